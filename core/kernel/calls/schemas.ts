import type { z } from 'zod';
import type { Declaration, ExtensionConfig } from '../../declarations/index.ts';
import type { Diagnostic, JsonValue, PithError } from '../../contract/index.ts';
import { Problem } from '../records/failures.ts';
import { describe, fieldProblems, knownKeys, parseLeniently, pathText, saidIgnored, isNote } from '@pith/checked-yaml';
import { didYouMean, slipsOf } from '@pith/plain-text';

/** What the owner of a key under `agent:` says of a value; `usable`: that without what is wrong in it. */
export interface AgentKeyCheck {
  readonly findings: readonly AgentKeyFinding[];
  readonly usable: unknown;
}

export type AgentKeyFinding = { readonly path: string } & Pick<Diagnostic, 'severity' | 'code' | 'message'> & { readonly cure?: string };

export interface CheckedConfig {
  readonly config: Readonly<Record<string, unknown>>;
  /** What was left out: a sentence each, with its place in the settings. A guard that lacks it cannot answer, so there it is not called ignored. */
  readonly slips: readonly string[];
}

/** Throws `config_invalid` with the settings path of each finding. */
export function checkConfig(schema: unknown, effective: ExtensionConfig, file: string): void {
  if (!isSchema(schema)) return;
  const { success, error } = schema.safeParse(effective.config);
  if (success) return;
  const problems = fieldProblems(error.issues, schema, effective.config);
  throw invalid(findingsOf(error.issues, schema, effective), file, problems);
}

/** The configuration as the class's schema parses it, without what the schema refuses. Throws `config_invalid` where that cannot be left out. */
export function usableConfig(schema: unknown, effective: ExtensionConfig, { file, manifest }: Declaration): CheckedConfig {
  if (!isSchema(schema)) return { config: effective.config, slips: [] };
  const { data, issues } = parseLeniently(schema, effective.config);
  const findings = findingsOf(issues, schema, effective);
  if (data === null) throw invalid(findings, file);
  const worded = manifest?.provides.includes('guard') === true ? findings : findings.map(saidIgnored);
  const slips = worded.map(({ place, message }) => (place === '' ? message : `${place.trim()}: ${message}`));
  return { config: data as CheckedConfig['config'], slips };
}

type Located = Place & { readonly message: string };

function findingsOf(issues: readonly z.core.$ZodIssue[], schema: z.ZodType, effective: ExtensionConfig): readonly Located[] {
  return describeIssues(issues, schema, effective.config).map(({ path, message }) => {
    const place = placeOf(effective.where(path));
    const [above, name] = [place.name.replace(/\.?[^.]*$/u, ''), pathText([place.name])];
    const whole = message.startsWith('unknown key ')
      ? withHint(message.replace(/^unknown key '[^']*'(?! in )/u, `$& in '${above}'`), path, effective.claimedElsewhere)
      : message.replace(`'${pathText([path])}'`, `'${name}'`);
    return { ...place, message: whole };
  });
}

/** A slip of a key that others check is that key, whatever is alike among one's own. */
function withHint(message: string, path: string, claimedElsewhere: readonly string[]): string {
  if (path.includes('.')) return message;
  const meant = slipsOf(path, claimedElsewhere);
  if (meant.length > 0) return message.replace(/ \(did you mean [^)]*\)$/u, '') + didYouMean(path, meant);
  return message.includes('(did you mean') ? message : message + didYouMean(path, claimedElsewhere);
}

function invalid(findings: readonly Located[], file: string, problems?: PithError['problems']): Problem {
  const [first] = findings;
  // The failure itself names the first place; the message has the others.
  const texts = findings.map(({ place, message }) => `${place === first?.place ? '' : place}${message}`);
  return new Problem('validate', 'config_invalid', texts.join('; '), {
    file: first?.file ?? file,
    line: first?.line,
    problems,
    cure:
      first?.file !== undefined
        ? 'correct it there'
        : first?.name.startsWith('the new value') === true
          ? 'give another value'
          : "correct it in the settings, or 'config' in the manifest",
  });
}

interface Place {
  /** `file:line ` as it is in a message, or nothing. */
  readonly place: string;
  /** The path of the key. */
  readonly name: string;
  readonly file?: string;
  readonly line?: number;
}

function placeOf(where: string): Place {
  const [, file, line, name] = /^(.+):(\d+) (\S+)$/u.exec(where) ?? [];
  return file === undefined || name === undefined
    ? { place: '', name: where }
    : { place: `${file}:${line} `, name, file, line: Number(line) };
}

export interface Finding {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

/** One sentence a finding, with the path below `root`; unknown keys name the nearest known ones. */
export function describeIssues(issues: readonly z.core.$ZodIssue[], schema: z.ZodType, value: unknown, root = ''): readonly Finding[] {
  return issues.flatMap((issue): Finding[] => {
    const path = [root, ...issue.path.map(String)].filter((part) => part !== '').join('.');
    if (issue.code !== 'unrecognized_keys') return [{ path, code: issue.code, message: describe(issue, value, root) }];
    const known = knownKeys(schema, issue.path);
    const below = path === '' ? '' : `${path}.`;
    return issue.keys.map((key) => ({
      path: `${below}${key}`,
      code: issue.code,
      message: `unknown key '${key}'${path === '' ? '' : ` in '${pathText([path])}'`}${didYouMean(key, known)}`,
    }));
  });
}

/** For a form. null: it is no schema. */
export async function jsonSchemaOf(schema: unknown): Promise<JsonValue> {
  if (!isSchema(schema)) return null;
  const { z } = await import('zod'); // a start may need none
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonValue;
}

export function isSchema(value: unknown): value is z.ZodType {
  return typeof value === 'object' && value !== null && 'safeParse' in value && typeof value.safeParse === 'function';
}

/** Where the schemas live: what is wrong with a value under `agent:`, and what of it the owner can use. */
export function checkAgentKeyWith(schemas: Readonly<Record<string, unknown>> | undefined, key: string, value: unknown): AgentKeyCheck {
  const schema = schemas?.[key];
  if (!isSchema(schema)) return { findings: [], usable: value };
  const { data, issues, rest } = parseLeniently(schema, value);
  const severity = data === null ? 'error' : 'warning';
  const findings = issues.flatMap((issue) =>
    describeIssues([issue], schema, value, `agent.${key}`).map(({ path, code, message }): AgentKeyFinding => ({
      path,
      severity,
      code: code === 'unrecognized_keys' ? 'unknown_key' : 'manifest_invalid',
      message: data === null || isNote(issue) ? message : saidIgnored({ message }).message,
      ...noteIn(issue),
    })),
  );
  return { findings, usable: data === null ? value : rest };
}

/** What an owner's schema only notes, with `params: { severity: 'warning', code, cure }`, does not fail the agent. */
function noteIn(issue: z.core.$ZodIssue): Partial<Pick<AgentKeyFinding, 'severity' | 'code' | 'cure'>> {
  if (issue.code !== 'custom' || !isNote(issue)) return {};
  const { code, cure } = issue.params as { readonly code?: unknown; readonly cure?: unknown };
  return { severity: 'warning', ...(typeof code === 'string' ? { code } : {}), ...(typeof cure === 'string' ? { cure } : {}) };
}
