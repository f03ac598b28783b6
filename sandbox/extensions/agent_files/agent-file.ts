import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { type AgentProvider, type Diagnostic, messageOf } from 'pith';
import { asIgnored, issuesToDiagnostics, parseLeniently, parseYaml, type Positions } from '@pith/checked-yaml';
import { notTextAt } from '@pith/plain-text';
import { frontmatter, type Frontmatter } from './config.ts';

const MAX_FILE_BYTES = 64 * 1024;
const MAX_FRONTMATTER_BYTES = 16 * 1024;

/** Keys of other systems that say how a model is called: ignored with a warning, so that the agent works. */
const FOREIGN_KEYS: Readonly<Record<string, string>> = {
  temperature: 'remove it: the model has its own default',
  top_p: 'remove it: the model has its own default',
  max_tokens: "Write 'limits: { max_tokens: … }' for the tokens of one turn",
  llm: "Write 'model: provider/model'",
  api_key: 'Keep keys in the environment or in pith secrets',
  base_url: "Set it below 'extensions.<id of the model provider>' in pith.yaml",
};

/**
 * Reads an AGENT.md: frontmatter between `---` lines, then the instructions. `defaultTools`: used where the file names none. Never rejects.
 */
export async function readAgentFile(
  file: string,
  defaultTools: readonly string[],
): Promise<Awaited<ReturnType<AgentProvider['listAgents']>>[number]> {
  const id = path.basename(path.dirname(file));
  const broken = (...diagnostics: readonly Diagnostic[]): Awaited<ReturnType<AgentProvider['listAgents']>>[number] => ({
    id,
    spec: null,
    diagnostics,
    file,
  });
  if (!/^[a-z][a-z0-9_-]{0,62}$/.test(id)) {
    const cure = 'rename the folder: lower-case letters, digits, _ and -, a letter first';
    return broken(failure(file, 1, `the folder's name '${id}' cannot be an id`, cure));
  }
  let text: string;
  try {
    text = await readText(file);
  } catch (error) {
    return broken(failure(file, 1, error instanceof RangeError ? error.message : `cannot be read: ${messageOf(error)}`));
  }
  const parts = split(text);
  if (parts === null)
    return broken(failure(file, 1, "has no frontmatter between two lines '---'", "Begin the file with '---', 'name: …' and '---'"));
  const document = await parseYaml(parts.frontmatter, { file, code: 'manifest_invalid', firstLine: 2, maxBytes: MAX_FRONTMATTER_BYTES });
  const { positions } = document;
  if (document.diagnostics.some(({ severity }) => severity === 'error')) return broken(...document.diagnostics);

  const foreign = foreignKeys(document.value, file, positions);
  const { data, issues } = parseLeniently(frontmatter, foreign.rest);
  const source = { file, positions, line: 2, code: 'manifest_invalid', value: foreign.rest };
  const found = issuesToDiagnostics(issues, frontmatter, source);
  const diagnostics = [...document.diagnostics, ...foreign.warnings];
  if (data === null) return broken(...diagnostics, ...found);
  diagnostics.push(...found.map(asIgnored));
  const [line = 1] = positions['provider'] ?? [];
  if (data.provider !== undefined && data.model === undefined)
    return broken(...diagnostics, failure(file, line, "'provider' needs a model", "Add 'model: …' or remove 'provider'"));
  return {
    id,
    spec: specOf({ id, file, data, instructions: parts.body, defaultTools }),
    diagnostics,
    file,
    positions: underAgent(positions),
  };
}

async function readText(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK); // does not wait for a pipe
  try {
    const { size, isFile } = await handle.stat().then((stats) => ({ size: stats.size, isFile: stats.isFile() }));
    if (!isFile) throw new RangeError('is not a file');
    if (size > MAX_FILE_BYTES) throw new RangeError(`has ${size} bytes, more than the ${MAX_FILE_BYTES} that are read`);
    const bytes = await handle.readFile();
    const at = notTextAt(bytes);
    if (at !== null) throw new RangeError(`is not UTF-8 text: byte ${at}`);
    return new TextDecoder().decode(bytes);
  } finally {
    await handle.close();
  }
}

function split(text: string): { readonly frontmatter: string; readonly body: string } | null {
  const found = /^---[ \t]*\r?\n([\s\S]*?\r?\n)??---[ \t]*(?:\r?\n|$)/.exec(text);
  return found === null ? null : { frontmatter: found[1] ?? '', body: text.slice(found[0].length).trim() };
}

function foreignKeys(value: unknown, file: string, positions: Positions): { readonly rest: unknown; readonly warnings: Diagnostic[] } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { rest: value ?? {}, warnings: [] };
  const entries = Object.entries(value);
  const warnings = entries.flatMap(([key]): Diagnostic[] => {
    if (!Object.hasOwn(FOREIGN_KEYS, key)) return [];
    const [line, column] = positions[key] ?? [2, 1];
    const message = `'${key}' has no effect here`;
    return [{ severity: 'warning', code: 'key_without_effect', message, file, line, column, cure: FOREIGN_KEYS[key] ?? 'remove it' }];
  });
  return { rest: Object.fromEntries(entries.filter(([key]) => !Object.hasOwn(FOREIGN_KEYS, key))), warnings };
}

interface Found {
  readonly id: string;
  readonly file: string;
  readonly data: Frontmatter;
  readonly instructions: string;
  readonly defaultTools: readonly string[];
}

function specOf({ id, file, data, instructions, defaultTools }: Found): Awaited<ReturnType<AgentProvider['listAgents']>>[number]['spec'] {
  const {
    name,
    description,
    provider,
    model = 'default',
    allow_skills: allowSkills,
    uses_tools: usesTools,
    uses_skills: usesSkills,
  } = data;
  return {
    id,
    name,
    description,
    model: provider === undefined || model.startsWith(`${provider}/`) ? model : `${provider}/${model}`,
    integrationMode: 'none',
    instructions,
    prompt: null,
    promptFile: null,
    usesTools: usesTools ?? defaultTools, // a skill mode brings its own tools
    usesSkills,
    delegatesTo: [],
    limits: data.limits ?? {},
    keys: { skills: { mode: allowSkills ? 'single_tool' : 'none' } },
    origin: file,
  };
}

function underAgent(positions: Positions): Positions {
  return Object.fromEntries(Object.entries(positions).map(([key, place]) => [`agent.${key}`, place]));
}

function failure(file: string, line: number, message: string, cure = 'make it a text file that can be read'): Diagnostic {
  return { severity: 'error', code: 'manifest_invalid', message, file, line, column: 1, cure };
}
