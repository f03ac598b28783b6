import { defineTool, toolError, z, type ApprovalQuestion, type Tool } from 'pith';
import { printable, printableLine } from '@pith/plain-text';
import type { Connection } from './connection.ts';
import { changesIn, saidOf, subjectOf } from './known-tools.ts';
import type { ServerTool } from './listed-tool.ts';

const LONGEST_DESCRIPTION = 2000;
const LARGEST_SCHEMA = 32_768;

/** The tools of a connected server that the settings let through. What cannot be offered is left out. */
export function toolsOf(connection: Connection): readonly Tool[] {
  const { allow, deny } = connection.config.tools;
  const names = new Set<string>();
  return connection.tools.flatMap((tool) => {
    if ((allow !== undefined && !allow.includes(tool.name)) || deny.includes(tool.name)) return [];
    const name = modelName(connection.name, tool.name);
    if (names.has(name) || JSON.stringify(tool.inputSchema).length > LARGEST_SCHEMA) return [];
    names.add(name);
    return [offered(connection, tool, name)];
  });
}

/** `<server>_<tool>` of letters, digits, `_` and `-`, at most 64. */
export function modelName(server: string, tool: string): string {
  return `${server}_${tool.replace(/[^a-zA-Z0-9_-]/gu, '_')}`.slice(0, 64);
}

function offered(connection: Connection, tool: ServerTool, name: string): Tool {
  const { description = '', inputSchema, annotations = {} } = tool;
  const isReadOnly = annotations['readOnlyHint'] === true;
  return defineTool({
    name,
    yields: true,
    description: plain(`${description} (from the MCP server '${connection.name}')`, LONGEST_DESCRIPTION),
    input: z.looseObject({}),
    inputSchema,
    effect: isReadOnly ? 'read' : annotations['idempotentHint'] === true ? 'idempotent' : 'write',
    needsApproval: async (given) => question(connection, await connection.current(tool), given),
    timeoutMs: connection.longestCall + 1000,
    async execute(input, { signal, approved }) {
      const now = await connection.current(tool, signal);
      if (approved === subjectOf(connection.name, now)) await connection.known.agree(connection.name, now);
      else if (changesIn(saidOf(now), saidOf(tool)).length > 0)
        return toolError('mcp_error', `the MCP server '${connection.name}' has changed this tool meanwhile: call it again`);
      return connection.call(now, input, signal);
    },
  });
}

/** False where nobody is asked: the server says that it only reads, and has said the same since it was believed. */
async function question(
  { name, config, known }: Connection,
  tool: ServerTool,
  given: Readonly<Record<string, unknown>>,
): Promise<false | ApprovalQuestion> {
  const isReadOnly = tool.annotations?.['readOnlyHint'] === true;
  const before = await known.known(name, tool);
  const changes = before === null ? [] : changesIn(saidOf(tool), before);
  if (before !== null && changes.length === 0 && isReadOnly && config.approvals === 'never-for-read-only') return false;
  const since =
    before === null
      ? `The MCP server '${name}' has added this tool since it was first connected. It says:`
      : changes.length === 0
        ? `The MCP server '${name}' says of it:`
        : `The MCP server '${name}' has changed the ${changes.join(' and the ')} of this tool since you agreed to it. It says now:`;
  const isNew = before === null || changes.length > 0; // the next question reads otherwise: an "always" to this one would cover nothing
  const called = `'${printableLine(tool.name)}' of the MCP server '${name}'`;
  const subject = subjectOf(name, tool);
  return {
    summary: `use ${called}`,
    text: [...argumentLines(given), since, plain(tool.description ?? '', LONGEST_DESCRIPTION)].join('\n'),
    subject,
    ...(isNew ? { once: true } : { always: { key: `tool:${subject}`, covers: `every call of ${called}` } }),
  };
}

/** What the call would send, a line for each argument; a text of several lines has its own. */
function argumentLines(given: Readonly<Record<string, unknown>>): readonly string[] {
  const lines = Object.entries(given).flatMap(([name, value]) =>
    typeof value === 'string' && value.includes('\n')
      ? [`${printableLine(name)}:`, ...value.split('\n').map((line) => `  ${printableLine(line)}`)]
      : [printableLine(`${name}: ${JSON.stringify(value)}`)],
  );
  return lines.length === 0 ? ['without arguments'] : lines;
}

/** As it may be shown, and cut. */
function plain(text: string, longest: number): string {
  const shown = printable(text);
  return shown.length > longest ? `${shown.slice(0, longest)}… [${shown.length - longest} characters more]` : shown;
}
