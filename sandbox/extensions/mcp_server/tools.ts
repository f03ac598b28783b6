import type { CallToolResult } from '@modelcontextprotocol/server';
import { PithError, z, type JsonValue, type ToolResult } from 'pith';
import { catalogLine, WHOLE_LINE } from '@pith/skill-files';
import { nearest, printableLine } from '@pith/plain-text';
import { delegateTask } from './delegate-task.ts';
import { CHANNEL } from './served.ts';
import { type ServedTool, servedTool, textResult, type ToolPorts } from './served-tool.ts';
import type { ReadableSkills } from './readable-skills.ts';
import { contentOf } from './skill-source.ts';

/** The tools of one connection now. A saved skill that has the name of another tool is left out. */
export async function toolsOf(ports: ToolPorts): Promise<readonly ServedTool[]> {
  const own = [...(ports.readable === null ? [] : skillTools(ports.readable)), delegateTask(ports)];
  const taken = new Set(own.map(({ name }) => name));
  return [...own, ...(await savedTools(ports)).filter(({ name }) => !taken.has(name))];
}

function skillTools(readable: ReadableSkills): readonly ServedTool[] {
  const skill = z.string().describe('Its id, as list_skills shows it.');
  return [
    servedTool({
      name: 'list_skills',
      description: 'Finds skills for a request, best first; without a query lists all by id.',
      isReadOnly: true,
      input: z.object({
        query: z.string().default('').describe('What to do, in a few words.'),
        limit: z.int().min(1).max(100).default(20),
        offset: z.int().min(0).default(0),
      }),
      async call({ query, limit, offset }, { signal }) {
        const all = await readable.skills();
        const found = query.trim() === '' ? null : (await readable.search(query, MOST_FOUND, signal)).ranked;
        const byId = new Map(all.map((each) => [each.id, each]));
        const ids = found?.map(({ id }) => id) ?? [...byId.keys()];
        const shown = ids.slice(offset, offset + limit).flatMap((id) => byId.get(id) ?? []);
        const head = `${shown.length} of ${ids.length} skills${found === null ? ', by id' : ', best first'}:`;
        const next = offset + limit < ids.length ? [`More: the same call with offset=${offset + limit}.`] : [];
        return textResult([head, ...shown.map((each) => catalogLine(each, WHOLE_LINE)), ...next].join('\n'));
      },
    }),
    servedTool({
      name: 'read_skill',
      description: 'Reads the instructions of a skill, and the names of its other files.',
      isReadOnly: true,
      input: z.object({ skill_id: skill }),
      call: async ({ skill_id: id }) => textResult(await readable.instructions(await found(readable, id))),
    }),
    servedTool({
      name: 'read_skill_resource',
      description: 'Reads one file of a skill, such as references/guide.md. Scripts are read, never run.',
      isReadOnly: true,
      input: z.object({ skill_id: skill, path: z.string().describe("Relative to the skill's folder.") }),
      async call({ skill_id: id, path }) {
        const bytes = await readable.file(await found(readable, id), path);
        if (bytes === null)
          throw new PithError('skill_not_found', `the skill '${printableLine(id)}' has no readable file of that path`, {
            cure: 'read_skill lists its files',
          });
        const content = contentOf(path, bytes);
        if ('text' in content) return textResult(content.text);
        return textResult(`A binary file of ${bytes.byteLength} bytes. Its bytes are a resource of this server.`);
      },
    }),
  ];
}

const MOST_FOUND = 100;

async function found(readable: ReadableSkills, id: string) {
  const skill = await readable.find(id);
  if (skill !== null) return skill;
  const near = nearest(
    id,
    (await readable.skills()).map((each) => each.id),
    3,
  );
  throw new PithError('skill_not_found', `there is no skill '${printableLine(id)}' here`, {
    cure: near.length === 0 ? 'see list_skills' : `nearest: ${near.map((each) => printableLine(each)).join(', ')}`,
  });
}

/** Skills that their owners have exposed, each with its inputs. */
async function savedTools({ served: { userId, asAdmin }, saved, hide }: ToolPorts): Promise<readonly ServedTool[]> {
  if (saved === null) return [];
  const by = { userId, asAdmin };
  return (await saved.exposed(by, CHANNEL)).map(({ tool, skill, description, inputSchema }) => ({
    name: tool,
    description,
    inputSchema: { ...inputSchema, type: 'object' },
    isReadOnly: false,
    async call(input, { signal, progress }) {
      await progress(`the saved skill '${skill}' runs`);
      const call = { by, channelId: CHANNEL, threadId: CHANNEL, inputs: input as Readonly<Record<string, JsonValue>> };
      const result = await saved.runExposed(skill, call, signal);
      return resultOf(result.ok ? result : hide(result));
    },
  }));
}

/** A question is a normal end: a person answers it, never this client. */
function resultOf(result: ToolResult): CallToolResult {
  if (!result.ok && result.error.code === 'approval_needed')
    return textResult(`${result.error.message}. See it and answer it with: pith approvals; what comes of the run: pith runs`);
  if (!result.ok) return { ...textResult(result.error.message), isError: true };
  return textResult(typeof result.output === 'string' ? result.output : JSON.stringify(result.output));
}
