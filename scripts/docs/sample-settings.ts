import { isPlainMap } from '@pith/plain-data';
import { settingsSchema } from '../../core/declarations/settings-schema.ts';
import { schemaOf, type Schema } from './schema-rows.ts';
import { SKILLS_SETTINGS, skillsSchema } from './skills-settings.ts';

/** Values shown for settings that have no default worth showing. */
const EXAMPLES: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['models.default', 'anthropic/claude-sonnet-4-5'],
  ['models.fast', 'ollama/qwen3:4b'],
  ['models.standard', 'openai/gpt-5-mini'],
  ['models.thinking', 'anthropic/claude-opus-4-1'],
  ['effort', 'medium'],
  ['prices', { 'openai/some-model': { input: 2.5, output: 10 } }],
  ['providers', { openai: { base_url: 'http://127.0.0.1:1234/v1', api_key_env: 'OPENAI_API_KEY' } }],
  ['agents.paths', ['../shared-agents']],
  ['data_dir', 'data'],
  ['extensions', { kv: { enabled: false } }],
  ['skills.sources', ['.claude/skills', { path: '../team-skills', label: 'team' }]],
  ['skills.skills_path', '~/skills'],
  ['skills.disabled', ['task-decomposition']],
]);

/** Every setting as a comment: `##` explains, `#` begins a line that can be used by taking the `# ` away. */
export function sampleSettings(): string {
  const settings = schemaOf(settingsSchema());
  const skills = schemaOf(skillsSchema());
  const head = [
    '## Settings of a sandbox. Copy this file to pith.yaml and take the "# " from the lines that you want.',
    '## Made from the schemas by npm run docs. What is set here is overridden by PITH_* variables and by options.',
  ];
  const parts = Object.entries(settings.properties ?? {}).map(([name, schema]) =>
    name === 'skills' ? part(name, { ...skills, description: 'Settings of skills.' }, name, 0) : part(name, schema, name, 0),
  );
  return `${[head, ...parts].map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function part(name: string, schema: Schema, path: string, depth: number): readonly string[] {
  const pad = '  '.repeat(depth);
  const meaning = schema.description ?? (path.startsWith('skills.') ? SKILLS_SETTINGS.get(path.slice('skills.'.length)) : undefined) ?? '';
  const explained = wrap(meaning, 116 - pad.length).map((line) => `## ${pad}${line}`);
  const below = Object.entries(schema.properties ?? {});
  if (below.length > 0)
    return [...explained, `# ${pad}${name}:`, ...below.flatMap(([key, value]) => part(key, value, `${path}.${key}`, depth + 1))];
  return [...explained, ...yamlLines(name, EXAMPLES.get(path) ?? schema.default ?? null).map((line) => `# ${pad}${line}`)];
}

function yamlLines(name: string, value: unknown): readonly string[] {
  if (!isPlainMap(value)) return [`${name}: ${flow(value)}`];
  return [
    `${name}:`,
    ...Object.entries(value)
      .flatMap(([key, inner]) => yamlLines(key, inner))
      .map((line) => `  ${line}`),
  ];
}

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (isPlainMap(value))
    return `{ ${Object.entries(value)
      .map(([key, inner]) => `${key}: ${flow(inner)}`)
      .join(', ')} }`;
  return typeof value === 'string' && /^$|^[^\w./~]|[:,[\]{}#]/.test(value) ? JSON.stringify(value) : String(value);
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ').filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
