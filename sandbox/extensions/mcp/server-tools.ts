import { defineTool, toolError, z, type ApprovalQuestion, type Tool } from 'pith';
import { printableLine } from '@pith/plain-text';
import { ownNames } from '@pith/tool-schemas';
import type { Connection } from './connection.ts';
import { changesIn, saidOf, subjectOf } from './known-tools.ts';
import type { ServerTool } from './listing.ts';
import type { NamedTool } from './offer.ts';
import { shownText } from './tool-results.ts';

const LONGEST_SHOWN = 2000;

/** A tool of a server as Pith offers it. */
export function serverTool(connection: Connection, { name, description, tool }: NamedTool): Tool {
  const { annotations = {} } = tool;
  const isReadOnly = annotations['readOnlyHint'] === true;
  return defineTool({
    name,
    overridable: true,
    description,
    input: z.looseObject({}),
    inputSchema: tool.sent.schema,
    effect: isReadOnly ? 'read' : annotations['idempotentHint'] === true ? 'idempotent' : 'write',
    needsApproval: async (given) => question(connection, await connection.current(tool), ownNames(given, tool.sent.names)),
    timeoutMs: connection.longestCall + 1000,
    async execute(input, { signal, approved, turn }) {
      const now = await connection.current(tool, signal);
      if (approved === subjectOf(connection.name, now)) await connection.known.agree(connection.name, now);
      else if (changesIn(saidOf(now), saidOf(tool)).length > 0)
        return toolError('mcp_error', `the MCP server '${connection.name}' has changed this tool meanwhile: call it again`);
      await connection.begins(turn);
      return connection.call(now, ownNames(input, tool.sent.names), signal);
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
    text: [...argumentLines(given), since, shownText(tool.description ?? '', LONGEST_SHOWN)].join('\n'),
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
