import type { z } from 'zod';
import { isNote, parseLeniently, saidIgnored } from '@pith/checked-yaml';
import { describeIssues, isSchema } from '../settings/config-check.ts';
import type { AgentKeyCheck, AgentKeyFinding } from './generation.ts';

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
