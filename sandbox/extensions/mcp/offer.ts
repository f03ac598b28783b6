import { printable, printableLine } from '@pith/plain-text';
import { withinBounds } from '@pith/tool-schemas';
import { sha256 } from '@pith/plain-data';
import type { ServerConfig } from './config.ts';
import type { ServerTool, Listing } from './listing.ts';

export interface ListedServer {
  readonly name: string;
  readonly config: Pick<ServerConfig, 'tools'>;
  readonly listing: Listing;
}

/** What is offered of one server. */
export interface Offer {
  readonly tools: readonly NamedTool[];
  /** What is left out and why, in sentences, and what to do. */
  readonly leftOut: readonly { readonly message: string; readonly cure: string }[];
}

export interface NamedTool {
  /** As a model sees it. */
  readonly name: string;
  readonly description: string;
  readonly tool: ServerTool;
}

/** Of all tools of all servers: names, descriptions and schemas, in characters. Each request carries them. */
const MOST_OF_ALL = 384 * 1024;
/** OpenAI takes 128 tools in a request, and there are others beside these. */
const MOST_TOOLS = 100;
/** Some providers refuse a request for a longer one. */
const LONGEST_DESCRIPTION = 1024;

/** What the settings let through of each server, within a bound for all: who has few tools keeps them, whatever others bring. */
export function offersOf(servers: readonly ListedServer[]): ReadonlyMap<string, Offer> {
  const taken = new Set<string>();
  const named = servers.map((server) => {
    const wanted = wantedOf(server, servers);
    const distinct = wanted.filter(({ name }) => !taken.has(name) && taken.add(name));
    return { server, distinct, clashing: wanted.filter((each) => !distinct.includes(each)) };
  });
  const kept = withinBounds(
    named.map(({ distinct }) => distinct),
    [
      { all: MOST_OF_ALL, of: sizeOf },
      { all: MOST_TOOLS, of: () => 1 },
    ],
  );
  return new Map(
    named.map(({ server, distinct, clashing }, at) => {
      const tools = kept[at] as readonly NamedTool[];
      const beyond = distinct.filter((each) => !tools.includes(each));
      return [server.name, { tools, leftOut: leftOut(server, { clashing, beyond }) }];
    }),
  );
}

function wantedOf({ name: server, config, listing }: ListedServer, servers: readonly ListedServer[]): readonly NamedTool[] {
  const { allow, deny } = config.tools;
  const [allowed, denied] = [allow && new Set(allow), new Set(deny)];
  const others = servers.map(({ name }) => name).filter((name) => name.startsWith(`${server}_`));
  return listing.tools
    .filter(({ name }) => (allowed === undefined || allowed.has(name)) && !denied.has(name))
    .map((tool) => ({ name: modelName(server, tool.name, others), description: descriptionOf(server, tool), tool }));
}

const LONGEST_NAME = 64;

/**
 * `<server>_<tool>`; with a hash where it had to be changed or cut, or could be that of a tool of another server, one of `others`. So each
 * tool has its name at each start, whatever other tools there are, and none can take the name of another.
 */
export function modelName(server: string, tool: string, others: readonly string[]): string {
  const plain = `${server}_${tool}`;
  if (/^[a-zA-Z0-9_-]{1,64}$/u.test(plain) && !others.some((other) => plain.startsWith(`${other}_`))) return plain;
  const hash = sha256(JSON.stringify([server, tool])).slice(0, 8);
  return `${plain.replace(/[^a-zA-Z0-9_-]/gu, '_').slice(0, LONGEST_NAME - hash.length - 1)}_${hash}`;
}

/** As a model is told it: short enough for all providers. */
function descriptionOf(server: string, { description = '' }: ServerTool): string {
  const from = ` (from the MCP server '${server}')`;
  const room = LONGEST_DESCRIPTION - from.length;
  const shown = printable(description.slice(0, LONGEST_DESCRIPTION));
  return (description.length > room || shown.length > room ? `${shown.slice(0, room - 1)}…` : shown) + from;
}

function sizeOf({ name, description, tool }: NamedTool): number {
  return name.length + description.length + tool.sent.size;
}

const MOST_LINES = 10;
const MOST_NAMED = 5;

function leftOut(
  { name, listing: { tools, refused, notes } }: ListedServer,
  { clashing, beyond }: Readonly<Record<'clashing' | 'beyond', readonly NamedTool[]>>,
): Offer['leftOut'] {
  const of = `of the MCP server '${name}'`;
  const cure = 'have the server corrected';
  const single = [...refused].map(([tool, why]) => ({ message: `the tool '${tool}' ${of} is left out: ${why}`, cure }));
  const more = [...refused.keys()].slice(MOST_LINES);
  const fewer = 'name the tools that you need in tools.allow of the server; a server of .mcp.json has no tools.allow: move it to pith.yaml';
  const bound = `a request has at most ${MOST_TOOLS} tools of MCP servers, and ${MOST_OF_ALL / 1024} KB of them`;
  return [
    ...notes.slice(0, MOST_LINES).map((note) => ({ message: `the MCP server '${name}': ${note}`, cure })),
    ...single.slice(0, MOST_LINES),
    ...(more.length === 0 ? [] : [{ message: `${more.length} more ${toolsAre(more.length, of)} left out: ${listed(more)}`, cure }]),
    ...clashing.slice(0, MOST_LINES).map((each) => ({
      message: `the tool '${shown(each)}' ${of} is left out: another has its name`,
      cure: 'take one of them out with tools.deny',
    })),
    ...(beyond.length === 0
      ? []
      : [
          {
            message: `${beyond.length} of ${tools.length} ${toolsAre(tools.length, of, beyond.length)} left out, because ${bound}: ${listed(beyond.map(shown))}`,
            cure: fewer,
          },
        ]),
  ];
}

function toolsAre(count: number, of: string, subjects = count): string {
  return `${count === 1 ? 'tool' : 'tools'} ${of} ${subjects === 1 ? 'is' : 'are'}`;
}

function shown({ tool }: NamedTool): string {
  return printableLine(tool.name, 100);
}

function listed(names: readonly string[]): string {
  return names.slice(0, MOST_NAMED).join(', ') + (names.length > MOST_NAMED ? ', …' : '');
}
