import { PithError } from 'pith';
import { didYouMean, slipsOf } from '@pith/plain-text';
import type { SkillsConfig } from '../config.ts';

interface Kind {
  readonly what: string;
  fits(value: unknown): boolean;
}

const BOOLEAN: Kind = { what: 'true or false', fits: (value) => typeof value === 'boolean' };
const TEXT: Kind = { what: 'text', fits: (value) => typeof value === 'string' && value !== '' };
const TEXTS: Kind = { what: 'a list of texts', fits: (value) => Array.isArray(value) && value.every(TEXT.fits) };

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What the schema of `config.ts` says, for commands that may not load zod. A test holds both against each other. */
const KINDS: Readonly<Record<keyof SkillsConfig, Kind>> = {
  enabled: BOOLEAN,
  allowed: TEXTS,
  disabled: TEXTS,
  sources: {
    what: 'a list of paths, or { replace: [paths] }',
    fits: (value) => isSources(value) || (hasOnly(value, ['replace']) && isSources(value['replace'])),
  },
  skills_path: { what: 'a path', fits: (value) => value === null || TEXT.fits(value) },
  trust: { what: "'ask' or 'auto'", fits: (value) => value === 'ask' || value === 'auto' },
  poll_seconds: numberFrom(0),
  trusted_links: TEXTS,
  private_origins: TEXTS,
  stats_days: { what: 'a whole number from 0 to 3650', fits: (value) => wholeFrom(0).fits(value) && Number(value) <= 3650 },
  max_skills: wholeFrom(1),
  learn_examples: BOOLEAN,
  ranker: { what: 'the id of an extension', fits: (value) => value === null || TEXT.fits(value) },
  embedding: { what: "'measured', 'always' or 'off'", fits: (value) => value === 'measured' || value === 'always' || value === 'off' },
  scripts: {
    what: 'a map of limits',
    fits: (value) => hasOnly(value, Object.keys(LIMITS)) && Object.entries(value).every(([key, limit]) => LIMITS[key]!.fits(limit)),
  },
};

const LIMITS: Readonly<Record<string, Kind>> = {
  timeout_s: { what: 'a number', fits: (value) => isNumber(value) && value > 0 },
  max_output_bytes: wholeFrom(1),
  max_args: wholeFrom(0),
  max_arg_bytes: wholeFrom(0),
  sandbox: { what: "'bubblewrap' or 'none'", fits: (value) => value === 'bubblewrap' || value === 'none' },
  approval: { what: "'ask' or 'never'", fits: (value) => value === 'ask' || value === 'never' },
  env: { what: 'a list of names', fits: (value) => TEXTS.fits(value) && (value as string[]).every((name) => NAME.test(name)) },
};

/** Their defaults allow more than may have been written. */
const SAFEGUARDS: readonly string[] = ['enabled', 'allowed', 'disabled'];
const MOST_WRONG = 2;

/** What is wrong with these settings, by key. */
export function settingProblems(config: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(config).flatMap(([key, value]): [string, string][] => {
      const kind: Kind | undefined = Object.hasOwn(KINDS, key) ? KINDS[key as keyof SkillsConfig] : undefined;
      if (kind === undefined) return [[key, `unknown key '${key}' in 'skills'${didYouMean(key, Object.keys(KINDS))}`]];
      return value === undefined || kind.fits(value) ? [] : [[key, `'skills.${key}' must be ${kind.what}`]];
    }),
  );
}

/** The settings as the extension reads them: without what it ignores, with the narrowest value of a safeguard that cannot be read. Throws `config_invalid` where it would not start. */
export function usableSettings<T extends Readonly<Record<string, unknown>>>(config: T): T {
  const known = Object.keys(KINDS);
  const entries = Object.entries(config).map(([key, value]): [string, unknown] => {
    const slips = Object.hasOwn(KINDS, key) ? [] : slipsOf(key, known, MOST_WRONG);
    return [slips.find((name) => SAFEGUARDS.includes(name) && !Object.hasOwn(config, name)) ?? key, value];
  });
  const named = Object.fromEntries(entries.map(([key, value]) => [key, SAFEGUARDS.includes(key) ? narrowed(key, value) : value]));
  const problems = settingProblems(named);
  const allowed = problems.get('allowed');
  if (allowed !== undefined) throw new PithError('config_invalid', allowed, { cure: "correct it under 'skills' in pith.yaml" });
  return Object.fromEntries(Object.entries(named).filter(([key]) => !problems.has(key))) as T;
}

function narrowed(key: string, value: unknown): unknown {
  if (key === 'enabled') return BOOLEAN.fits(value) ? value : false;
  const list = typeof value === 'string' ? value.split(',').flatMap((part) => part.trim() || []) : value;
  const texts = Array.isArray(list)
    ? list.map((item) => (['number', 'boolean'].includes(typeof item) ? String(item) : (item as unknown)))
    : list;
  return key === 'disabled' && !TEXTS.fits(texts) ? ['*'] : texts;
}

function isSources(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => TEXT.fits(item) || isSource(item));
}

function isSource(value: unknown): boolean {
  return hasOnly(value, ['path', 'label']) && TEXT.fits(value['path']) && (value['label'] === undefined || TEXT.fits(value['label']));
}

function hasOnly(value: unknown, keys: readonly string[]): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).every((key) => keys.includes(key));
}

function numberFrom(least: number): Kind {
  return { what: `a number of at least ${least}`, fits: (value) => isNumber(value) && value >= least };
}

function wholeFrom(least: number): Kind {
  return { what: `a whole number of at least ${least}`, fits: (value) => Number.isSafeInteger(value) && (value as number) >= least };
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
