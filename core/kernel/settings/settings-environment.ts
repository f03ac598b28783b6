import type { Diagnostic } from '../../contract/index.ts';
import { didYouMean } from '@pith/plain-text';
import type { PlainMap } from '../records/plain-data.ts';

export interface EnvironmentSettings {
  readonly values: PlainMap;
  /** The variable that set a dotted path. */
  readonly names: ReadonlyMap<string, string>;
  readonly diagnostics: readonly Diagnostic[];
}

/** Variables and the settings that they set. `PITH_SKILLS_<KEY>` sets any `skills.<key>`, as JSON or plain text. */
export const ENVIRONMENT_SETTINGS: Readonly<Record<string, readonly [path: string, kind: 'text' | 'list']>> = {
  PITH_MODEL: ['models.default', 'text'],
  PITH_MODEL_FAST: ['models.fast', 'text'],
  PITH_MODEL_STANDARD: ['models.standard', 'text'],
  PITH_MODEL_THINKING: ['models.thinking', 'text'],
  PITH_DEFAULT_AGENT: ['default_agent', 'text'],
  PITH_DATA_DIR: ['data_dir', 'text'],
  PITH_AGENTS_PATHS: ['agents.paths', 'list'],
  PITH_ADMINS: ['admins', 'list'],
};

/** Settings among the environment's `PITH_*` variables. Empty ones count as unset; a name close to a known one is reported. */
export function settingsFromEnvironment(env: Readonly<Record<string, string | undefined>>): EnvironmentSettings {
  const values: Record<string, unknown> = {};
  const names = new Map<string, string>();
  const diagnostics: Diagnostic[] = [];
  for (const name of Object.keys(env).sort()) {
    const text = env[name];
    if (!name.startsWith('PITH_') || text === undefined || text === '') continue;
    const known = Object.hasOwn(ENVIRONMENT_SETTINGS, name) ? ENVIRONMENT_SETTINGS[name] : undefined;
    const skillKey = /^PITH_SKILLS_([A-Z0-9_]+)$/.exec(name)?.[1]?.toLowerCase();
    if (known !== undefined) {
      put(
        values,
        known[0],
        known[1] === 'list'
          ? text
              .split(',')
              .map((part) => part.trim())
              .filter(Boolean)
          : text,
      );
      names.set(known[0], name);
    } else if (skillKey !== undefined) {
      put(values, `skills.${skillKey}`, jsonOr(text));
      names.set(`skills.${skillKey}`, name);
    } else if (!ELSEWHERE.has(name)) {
      const hint = didYouMean(
        name,
        [...Object.keys(ENVIRONMENT_SETTINGS), ...ELSEWHERE].filter((other) => sharesStart(name, other)),
      );
      if (hint !== '')
        diagnostics.push({
          severity: 'warning',
          code: 'unknown_key',
          message: `unknown environment variable ${name}${hint}`,
          cure: 'correct its name or unset it',
        });
    }
  }
  return { values, names, diagnostics };
}

/** Variables that are no settings: the command line reads them. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'PITH_SANDBOX',
  'PITH_TRUST',
  'PITH_LOG',
  'PITH_SUPERVISED',
  'PITH_SERVE_HEALTHY_MS',
  'PITH_SERVE_SILENCE_MS',
]);

/** The common prefix says nothing, so a name must also begin alike after it to count as a slip. */
function sharesStart(name: string, other: string): boolean {
  return name[5] === other[5] && Math.abs(name.length - other.length) <= 3;
}

function put(values: Record<string, unknown>, path: string, value: unknown): void {
  const parts = path.split('.');
  const last = parts.pop()!;
  let target = values;
  for (const part of parts) target = (target[part] ??= {}) as Record<string, unknown>;
  target[last] = value;
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // plain text, as most variables are
  }
}
