import type { z } from 'zod';
import { describeIssues, isSchema } from '../lifecycle/config-check.ts';
import type { AgentKeyFinding } from '../lifecycle/generation.ts';

/** Where the schemas live: what is wrong with a value under `agent:`. */
export function checkAgentKeyWith(
  schemas: Readonly<Record<string, unknown>> | undefined,
  key: string,
  value: unknown,
): readonly AgentKeyFinding[] {
  const schema = schemas?.[key];
  if (!isSchema(schema)) return [];
  const result = schema.safeParse(value);
  if (result.success) return [];
  return result.error.issues.flatMap((issue) =>
    describeIssues([issue], schema, value, `agent.${key}`).map(({ path, code, message }): AgentKeyFinding => ({
      path,
      severity: 'error',
      code: code === 'unrecognized_keys' ? 'unknown_key' : 'manifest_invalid',
      message,
      ...noteIn(issue),
    })),
  );
}

/** What an owner's schema only notes, with `params: { severity: 'warning', code, cure }`, does not fail the agent. */
function noteIn(issue: z.core.$ZodIssue): Partial<Pick<AgentKeyFinding, 'severity' | 'code' | 'cure'>> {
  const params = issue.code === 'custom' ? issue.params : undefined;
  if (params?.['severity'] !== 'warning') return {};
  const { code, cure } = params as { readonly code?: unknown; readonly cure?: unknown };
  return { severity: 'warning', ...(typeof code === 'string' ? { code } : {}), ...(typeof cure === 'string' ? { cure } : {}) };
}
