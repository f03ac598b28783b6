import { isToolResult, messageOf, toolResult, type ExtensionContext, type Tool, type ToolResult } from 'pith';
import { FolderInstructions } from 'pith/project_instructions';
import type { Project } from './project.ts';

/** The tool, whose results also contain a folder's instructions when it first uses a file below it. */
export function withInstructions(tool: Tool, project: Project, { find, logger }: Pick<ExtensionContext, 'find' | 'logger'>): Tool {
  return {
    ...tool,
    async execute(input, call) {
      const result = await tool.execute(input, call);
      if (!isToolResult(result) || !result.ok || typeof result.output !== 'string') return result;
      try {
        const joined = await find(FolderInstructions)[0]?.joining(project.followed((input as { path: string }).path), call.turn);
        return joined ? extended(result, joined) : result;
      } catch (error) {
        logger.warn('instructions of a folder not known', { reason: messageOf(error) }); // the tool's own effect stays
        return result;
      }
    },
  };
}

type Joined = NonNullable<Awaited<ReturnType<FolderInstructions['joining']>>>;

function extended(result: Extract<ToolResult, { ok: true }>, { text, line, retain }: Joined): ToolResult {
  const { output, title, ...more } = result;
  return toolResult(text === null ? output : `${String(output)}\n\n${text}`, {
    ...more,
    ...(title === undefined ? {} : { title: `${title}; ${line}` }),
    ...(retain === null ? {} : { retain }),
  });
}
