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
export function allowedTools(entries: readonly string[], tools: readonly string[]): AllowedTools {
  if (entries.length === 0) return { granted: tools, missing: [], patterns: [] };
  const patterns = entries.filter(isPattern);
  const names = entries.filter((entry) => !isPattern(entry)).map((entry) => ({ entry, meant: [entry, ...ofServer(entry)] }));
  const known = tools.map((tool) => ({ tool, names: new Set(namesOf(tool)) }));
  return {
    granted: known.filter((each) => names.some(({ meant }) => meant.some((name) => each.names.has(name)))).map(({ tool }) => tool),
    missing: names.filter(({ meant }) => !known.some((each) => meant.some((name) => each.names.has(name)))).map(({ entry }) => entry),
    patterns,
  };
}

/** Whether an entry of `allowed-tools` restricts the arguments of a tool. */
export function isPattern(entry: string): boolean {
  return entry.includes('(');
}

function namesOf(tool: string): readonly string[] {
  const slash = tool.indexOf('/');
  const [extension, name] = [tool.slice(0, slash), tool.slice(slash + 1)];
  return [tool, name, extension, `${extension}__${name}`];
}

/** Elsewhere the tool of an MCP server is `mcp__server__tool`; here its own name is `server_tool`. */
function ofServer(entry: string): readonly string[] {
  const found = /^mcp__(.+?)__(.+)$/.exec(entry);
  return found === null ? [] : [`${found[1]}_${found[2]}`.replace(/[^a-zA-Z0-9_-]/gu, '_')];
}
