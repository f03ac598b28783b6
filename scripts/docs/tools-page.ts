import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Tool } from '../../core/contract/index.ts';
import { requirementsOf } from '../../core/kernel/index.ts';
import { fileTool } from '../../sandbox/extensions/core_tools/file-tool.ts';
import { kernelTools } from '../../sandbox/extensions/core_tools/kernel-tools.ts';
import { patchTool } from '../../sandbox/extensions/core_tools/patch-tool.ts';
import { todoTool } from '../../sandbox/extensions/core_tools/todo-tool.ts';
import { createAgentTools } from '../../sandbox/extensions/delegation/create-agent.ts';
import { delegateTask, listAgents } from '../../sandbox/extensions/delegation/tools.ts';
import { extensionTools } from '../../sandbox/extensions/extension_builder/tools/extension-tools.ts';
import { skillTools as stagedSkillTools } from '../../sandbox/extensions/extension_builder/tools/skill-tools.ts';
import { kvTools } from '../../sandbox/extensions/kv/tools.ts';
import { programTool } from '../../sandbox/extensions/program_turns/program-tool.ts';
import { changeTools } from '../../sandbox/extensions/project_tools/changes/change-tools.ts';
import { listFilesTool } from '../../sandbox/extensions/project_tools/files/list-files.ts';
import { readFileTool } from '../../sandbox/extensions/project_tools/files/read-file.ts';
import { searchFilesTool } from '../../sandbox/extensions/project_tools/files/search-files.ts';
import { shellTools } from '../../sandbox/extensions/project_tools/shell/shell-tools.ts';
import { skillTools } from '../../sandbox/extensions/saved_skills/skill-tools.ts';
import { scheduleTools } from '../../sandbox/extensions/scheduler/tools.ts';
import { proposeTool } from '../../sandbox/extensions/skill_proposals/tools/propose-tool.ts';
import { reviewTool } from '../../sandbox/extensions/skill_proposals/tools/review-tool.ts';
import { createTools } from '../../sandbox/extensions/skill_registry/tools.ts';
import { scriptTool } from '../../sandbox/extensions/skill_scripts/scripts/script-tool.ts';
import { vaultTools } from '../../sandbox/extensions/skill_vault/tools.ts';
import { taskTools, workerTools } from '../../sandbox/extensions/task_engine/tools.ts';
import { webFetchTool } from '../../sandbox/extensions/web/fetch-tool.ts';
import { webSearchTool } from '../../sandbox/extensions/web/search-tool.ts';

const NOTHING = {} as never;

/** The tools of each extension that ships, by its id; they are read and never called. */
function shippedTools(): Readonly<Record<string, readonly Tool[]>> {
  return {
    core_tools: [fileTool(NOTHING, NOTHING, NOTHING, NOTHING), patchTool(NOTHING, NOTHING, NOTHING), todoTool(), ...kernelTools(NOTHING)],
    delegation: [listAgents(NOTHING, NOTHING), delegateTask(NOTHING, NOTHING), ...createAgentTools(NOTHING, NOTHING)],
    extension_builder: [...extensionTools(NOTHING), ...stagedSkillTools(NOTHING)],
    kv: kvTools(NOTHING),
    program_turns: [programTool(NOTHING)],
    project_tools: [
      readFileTool(NOTHING),
      listFilesTool(NOTHING),
      searchFilesTool(NOTHING, NOTHING),
      ...changeTools(NOTHING, NOTHING),
      ...shellTools(NOTHING, NOTHING),
    ],
    saved_skills: skillTools(NOTHING),
    scheduler: scheduleTools(NOTHING, NOTHING),
    skill_proposals: [proposeTool(NOTHING), reviewTool(NOTHING)],
    skill_registry: createTools(NOTHING),
    skill_scripts: [scriptTool({ config: { scripts: {} } } as never, NOTHING)],
    skill_vault: vaultTools(NOTHING, () => NOTHING),
    task_engine: [...taskTools(NOTHING), ...workerTools(NOTHING)],
    web: [webFetchTool({ privateOrigins: [] } as never, NOTHING), webSearchTool(NOTHING, NOTHING)],
  };
}

/** The page with the table of the tools that ship and of which saved skills may name them. */
export async function toolsPage(root: string): Promise<string> {
  const rows = Object.entries(shippedTools()).flatMap(([extension, tools]) =>
    tools
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .map(({ name, effect = 'write', permission = {} }) => {
        const { authoring, safeToShare } = requirementsOf(effect, permission);
        const authors = authoring === 'admin' ? 'administrators' : 'anyone';
        return `| \`${name}\` | \`${extension}\` | ${effect} | ${authors} | ${safeToShare ? 'yes' : 'no'} |`;
      }),
  );
  const page = await readFile(path.join(root, 'docs/tools.md'), 'utf8');
  return page.replace(TABLE, (_, start: string, end: string) => [start, ...HEAD, ...rows, end].join('\n'));
}

const TABLE = /(<!-- tools:start -->)\n[^]*?(<!-- tools:end -->)/u;
const HEAD = ['| tool | extension | effect | authors | may be shared |', '|---|---|---|---|---|'];
