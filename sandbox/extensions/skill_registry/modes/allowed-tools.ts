import { TOOLSET } from '../contract.ts';

/** What `allowed-tools` of a skill comes to, for an agent with certain tools. */
export interface AllowedTools {
  /** `extension/tool` of each that is allowed and there; all of them where the skill restricts nothing. */
  readonly granted: readonly string[];
  /** Entries that name none of the tools, as written. */
  readonly missing: readonly string[];
  /** Entries with an argument pattern, such as `Bash(git:*)`: nothing here can hold a call to that, so they grant nothing. */
  readonly patterns: readonly string[];
}

/** `tools` are `extension/tool`. An entry names a tool by that, by the tool's own name, by its extension, or as `extension__tool`. */
export function allowedTools(entries: readonly string[] | null, tools: readonly string[]): AllowedTools {
  if (entries === null) return { granted: tools, missing: [], patterns: [] };
  const patterns = entries.filter(isPattern);
  const names = entries.filter((entry) => !isPattern(entry)).map((entry) => ({ entry, meant: [entry, ...ofServer(entry)] }));
  const known = tools.map((tool) => ({ tool, names: new Set(namesOf(tool)) }));
  return {
    granted: known.filter((each) => names.some(({ meant }) => meant.some((name) => each.names.has(name)))).map(({ tool }) => tool),
    missing: names.filter(({ meant }) => !known.some((each) => meant.some((name) => each.names.has(name)))).map(({ entry }) => entry),
    patterns,
  };
}

/** What `allowed-tools` lets a skill have of its own toolset, as entries of a policy. Which tools that brings need not be known yet. */
export function allowedOwnTools(entries: readonly string[] | null, skillId: string): readonly string[] {
  const own = `${TOOLSET}${skillId}`;
  if (entries === null || entries.includes(own)) return [own];
  const prefixes = [`${own}/`, `${own}__`, `${skillId}__`];
  const names = entries.filter((entry) => !isPattern(entry)).flatMap((entry) => [entry, ...ofServer(entry)]);
  return names.map((name) => `${own}/${name.slice(prefixes.find((prefix) => name.startsWith(prefix))?.length ?? 0)}`);
}

/** Whether an entry of `allowed-tools` restricts the arguments of a tool. */
export function isPattern(entry: string): boolean {
  return entry.includes('(');
}

function namesOf(tool: string): readonly string[] {
  const slash = tool.indexOf('/');
  const [extension, name] = [tool.slice(0, slash), tool.slice(slash + 1)];
  const short = extension.startsWith(TOOLSET) ? [`${extension.slice(TOOLSET.length)}__${name}`] : []; // as the model sees it on a clash
  return [tool, name, extension, `${extension}__${name}`, ...short];
}

/** Elsewhere the tool of an MCP server is `mcp__server__tool`; here its own name is `server_tool`. */
function ofServer(entry: string): readonly string[] {
  const found = /^mcp__(.+?)__(.+)$/.exec(entry);
  return found === null ? [] : [`${found[1]}_${found[2]}`.replace(/[^a-zA-Z0-9_-]/gu, '_')];
}
