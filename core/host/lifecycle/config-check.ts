import type { z } from 'zod';
import type { ExtensionConfig } from '../settings/config-of.ts';
import { Problem } from '../problem.ts';
import { knownKeys } from '../discovery/schema-issues.ts';
import { didYouMean } from '../../contract/nearest.ts';

/** The configuration as the class's schema parses it. Throws `config_invalid` with the settings path of each finding. */
export function checkConfig(schema: unknown, effective: ExtensionConfig, file: string): Readonly<Record<string, unknown>> {
  if (!isSchema(schema)) return effective.config;
  const result = schema.safeParse(effective.config);
  if (result.success) return result.data as Readonly<Record<string, unknown>>;
  const findings = describeIssues(result.error.issues, schema, '').map(({ path, message }) => ({
    ...placeOf(effective.where(path)),
    message,
  }));
  const [first] = findings;
  // The failure itself names the first place; the others are told in the message.
  const texts = findings.map(({ place, name, message }) => `${place === first?.place ? '' : place}${name}: ${message}`);
  throw new Problem('validate', 'config_invalid', texts.join('; '), {
    file: first?.file ?? file,
    line: first?.line,
    cure: "correct it in the settings, or 'config' in the manifest",
  });
}

interface Place {
  /** `file:line ` as it stands in a message, or nothing. */
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
export function describeIssues(issues: readonly z.core.$ZodIssue[], schema: z.ZodType, root: string): readonly Finding[] {
  return issues.flatMap((issue): Finding[] => {
    const path = [root, ...issue.path.map(String)].filter((part) => part !== '').join('.');
    if (issue.code !== 'unrecognized_keys')
      return [{ path, code: issue.code, message: path === '' ? issue.message : `'${path}': ${issue.message}` }];
    const known = knownKeys(schema, issue.path);
    const below = path === '' ? '' : `${path}.`;
    return issue.keys.map((key) => ({
      path: `${below}${key}`,
      code: issue.code,
      message: `'${below}${key}' is not known${didYouMean(key, known)}`,
    }));
  });
}

export function isSchema(value: unknown): value is z.ZodType {
  return typeof value === 'object' && value !== null && 'safeParse' in value && typeof value.safeParse === 'function';
}
