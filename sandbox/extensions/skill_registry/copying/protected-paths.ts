/** Folders of the sandbox that hold what is loaded, or kept. */
const FOLDERS: ReadonlySet<string> = new Set(['skills', 'extensions', 'agents', 'recipes', 'saved_skills', 'data', 'node_modules']);
/** What makes a folder a skill, an extension or an agent. */
const DECLARATIONS: ReadonlySet<string> = new Set(['skill.md', 'manifest.yaml', 'agent.md']);
const PROMPT = /^prompt\.(?:jinja2|j2|njk)$/;
const SETTINGS = /^pith(?:\..*)?\.ya?ml$/;

/** True for a path, as names from the sandbox down, at which nothing is put without a person. Hidden names are never used. */
export function isProtected(segments: readonly string[]): boolean {
  const names = segments.map((segment) => segment.toLowerCase());
  const [first = ''] = names;
  const last = names.at(-1) ?? '';
  return (
    names.length === 0 ||
    FOLDERS.has(first) ||
    names.some((name) => name.startsWith('.')) ||
    DECLARATIONS.has(last) ||
    PROMPT.test(last) ||
    (names.length === 1 && SETTINGS.test(last))
  );
}

/** Whether a folder with these names is a skill, an extension or an agent, wherever it lies. */
export function declaresSomething(names: readonly string[]): boolean {
  return names.some((name) => DECLARATIONS.has(name.toLowerCase()));
}
