import { runsLater } from 'pith';

/** What makes a folder a skill, an extension or an agent. */
const DECLARATIONS: ReadonlySet<string> = new Set(['skill.md', 'manifest.yaml', 'agent.md']);

/** True for a path, as names from the sandbox down, at which nothing is put without a person: state, and whatever runs later and unasked. */
export function isProtected(segments: readonly string[]): boolean {
  return segments.length === 0 || segments[0]?.toLowerCase() === 'data' || runsLater(segments) !== null;
}

/** Whether a folder with these names is a skill, an extension or an agent, wherever it lies. */
export function declaresSomething(names: readonly string[]): boolean {
  return names.some((name) => DECLARATIONS.has(name.toLowerCase()));
}
