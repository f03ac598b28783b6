import { relative } from 'node:path';
import { findingLine } from '@pith/plain-text';
import type { JsonValue } from 'pith';

/** What one check found. */
export interface Finding {
  readonly severity: 'error' | 'warning' | 'info';
  readonly message: string;
  /** Relative to the sandbox where it lies in it. */
  readonly file?: string;
  readonly line?: number;
  readonly cure?: string;
}

/** One row of what `check_extension` answers. */
export interface Check {
  readonly check: string;
  /** No finding is an error. */
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

export function checkOf(check: string, findings: readonly Finding[]): Check {
  return { check, ok: findings.every(({ severity }) => severity !== 'error'), findings };
}

/** With paths as the file tools take them. */
export function checkJson(check: Check, sandbox: string): JsonValue {
  return { ...check, findings: check.findings.map((finding) => ({ ...finding, ...placeIn(sandbox, finding) })) };
}

/** `error city_time/main.ts:3: what; cure`. */
export function findingText(finding: Finding, sandbox: string): string {
  return `${finding.severity} ${findingLine({ ...finding, ...placeIn(sandbox, finding) })}`;
}

function placeIn(sandbox: string, { file }: Finding): { readonly file?: string } {
  if (file === undefined) return {};
  const way = relative(sandbox, file);
  return { file: way.startsWith('..') ? file : way };
}
