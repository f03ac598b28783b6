import path from 'node:path';
import { z } from 'zod';
import { DEFAULT_LIMITS, type Manifest, manifestSchema } from '../../trust/index.ts';
import type { Diagnostic } from '../../contract/index.ts';
import { AGENT_FILE, keptPositions, type FolderReading, type Positions } from './declaration.ts';
import { parseLeniently } from './lenient-parse.ts';
import { isError, readOr } from './manifest-file.ts';
import { asIgnored, issuesToDiagnostics } from './schema-issues.ts';
import { parseYaml } from './yaml-document.ts';

const MAX_FRONTMATTER_BYTES = 16 * 1024;

/** The frontmatter of an AGENT.md: an agent in the manner of tools that keep agents as Markdown. Strict. */
export const agentFileSchema = z.strictObject({
  name: z.string().min(1),
  description: z.string().default(''),
  provider: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  allow_skills: z.boolean().default(false),
  uses_tools: z.array(z.string().min(1)).optional().meta({ safeguard: true }),
  uses_skills: z.array(z.string().min(1)).default([]),
  limits: z
    .strictObject({
      max_turns: z.int().min(1).optional(),
      max_tool_calls: z.int().min(0).optional(),
      max_tokens: z.int().min(1).optional(),
      time_budget_ms: z.int().min(1).optional(),
    })
    .default({})
    .meta({ safeguard: true }),
});

/** Keys that such files have elsewhere and that say how a model is called: read over with a warning, so that the agent works. */
const FOREIGN_KEYS: Readonly<Record<string, string>> = {
  temperature: 'remove it: the model has its own default',
  top_p: 'remove it: the model has its own default',
  max_tokens: "Write 'limits: { max_tokens: … }' for the tokens of one turn",
  llm: "Write 'model: provider/model'",
  api_key: 'Keep keys in the environment or in pith secrets',
  base_url: "Set it below 'extensions.<id of the model provider>' in pith.yaml",
};

/** Reads `directory/AGENT.md`: frontmatter between `---` lines, then the instructions. Never throws. */
export function readAgentFile(directory: string): FolderReading {
  const file = path.join(directory, AGENT_FILE);
  const text = readOr(file);
  if (typeof text !== 'string') return broken(file, [text], {});
  const parts = split(text);
  if (parts === null) {
    return broken(
      file,
      [failure(file, 1, "has no frontmatter between two lines '---'", "Begin the file with '---', 'name: …' and '---'")],
      {},
    );
  }
  const document = parseYaml(parts.frontmatter, { file, code: 'manifest_invalid', firstLine: 2, maxBytes: MAX_FRONTMATTER_BYTES });
  if (document.diagnostics.some(isError)) return broken(file, document.diagnostics, document.positions);

  const foreign = foreignKeys(document.value, file, document.positions);
  const diagnostics = [...document.diagnostics, ...foreign.warnings];
  const { data, issues } = parseLeniently(agentFileSchema, foreign.rest);
  const source = { file, positions: document.positions, line: 2, code: 'manifest_invalid', value: foreign.rest };
  const found = issuesToDiagnostics(issues, agentFileSchema, source);
  if (data === null) return broken(file, [...diagnostics, ...found], document.positions);
  diagnostics.push(...found.map(asIgnored));

  const problems = problemsOf(directory, file, data, document.positions);
  if (problems.length > 0) return broken(file, [...diagnostics, ...problems], document.positions);
  return {
    declaration: {
      file,
      manifest: manifestOf(path.basename(directory), data, parts.body),
      diagnostics,
      positions: keptPositions(underAgent(document.positions)),
    },
    extraAgentKeys: [],
    ownedAgentKeys: [],
    agentFile: { allowSkills: data.allow_skills, usesDefaultTools: data.uses_tools === undefined },
  };
}

type Frontmatter = z.output<typeof agentFileSchema>;

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

/** The folder's name is the id. Unlike a manifest's it may have dashes, as such folders have elsewhere. */
function problemsOf(directory: string, file: string, data: Frontmatter, positions: Positions): Diagnostic[] {
  const id = path.basename(directory);
  const line = (key: string) => positions[key]?.[0] ?? 1;
  const found: Diagnostic[] = [];
  if (!/^[a-z][a-z0-9_-]{0,62}$/.test(id)) {
    found.push(
      failure(
        file,
        1,
        `the folder's name '${id}' cannot be an id`,
        'Rename the folder: lower-case letters, digits, _ and -, a letter first',
      ),
    );
  }
  if (data.provider !== undefined && data.model === undefined) {
    found.push(failure(file, line('provider'), "'provider' needs a model", "Add 'model: …' or remove 'provider'"));
  }
  return found;
}

function manifestOf(id: string, data: Frontmatter, body: string): Manifest {
  const agent = {
    description: data.description,
    ...(data.model === undefined ? {} : { model: modelOf(data.model, data.provider) }),
    instructions: body,
    uses_tools: data.uses_tools ?? [],
    uses_skills: data.uses_skills,
    limits: { ...DEFAULT_LIMITS, ...data.limits },
  };
  const manifest = manifestSchema().parse({ id: 'agent', name: data.name, description: data.description, agent });
  return { ...manifest, id };
}

function modelOf(model: string, provider: string | undefined): string {
  return provider === undefined || model.startsWith(`${provider}/`) ? model : `${provider}/${model}`;
}

function underAgent(positions: Positions): Positions {
  return Object.fromEntries(Object.entries(positions).map(([key, place]) => [`agent.${key}`, place]));
}

function failure(file: string, line: number, message: string, cure: string): Diagnostic {
  return { severity: 'error', code: 'manifest_invalid', message, file, line, column: 1, cure };
}

function broken(file: string, diagnostics: readonly Diagnostic[], positions: Positions): FolderReading {
  return {
    declaration: { file, manifest: null, diagnostics, positions: keptPositions(underAgent(positions)) },
    extraAgentKeys: [],
    ownedAgentKeys: [],
    agentFile: null,
  };
}
