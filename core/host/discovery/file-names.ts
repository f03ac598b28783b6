/** The files that declare things, by the names that people write. */
export const MANIFEST_FILE = 'manifest.yaml';
export const AGENT_FILE = 'AGENT.md';
/** The first that is there counts. */
export const PROMPT_FILES: readonly string[] = ['prompt.jinja2', 'prompt.j2', 'prompt.njk'];
