import { z } from 'zod';
import { once } from '@pith/promises';

/** A list of findings as an extension may answer it. */
export const findingsSchema = once(() => {
  const text = z.string();
  const number = z.int().optional();
  return z.array(
    z.looseObject({
      severity: z.enum(['error', 'warning', 'info']),
      code: text,
      message: text,
      file: text.optional(),
      line: number,
      column: number,
      cure: text.optional(),
    }),
  );
});

/** What `listAgents` answers. What it says of the places of keys counts only where it can be read. */
export const agentSchema = once(() => {
  const text = z.string();
  const count = z.int().min(0);
  const spec = z.looseObject({
    name: text,
    description: text,
    model: text,
    effort: z.enum(['off', 'low', 'medium', 'high']).optional(),
    instructions: text,
    prompt: text.nullable(),
    promptFile: text.nullable(),
    origin: text.nullable(),
    usesTools: z.array(text),
    findsTools: z.array(text).optional(),
    usesSkills: z.array(text),
    delegatesTo: z.array(text),
    integrationMode: z.enum(['tool', 'none']),
    keys: z.record(text, z.unknown()),
    limits: z.looseObject({ max_turns: count, max_tool_calls: count, max_tokens: count, time_budget_ms: count }).partial().default({}),
  });
  const positions = z.record(text, z.tuple([z.number(), z.number()]));
  return z
    .object({
      id: text,
      spec: spec.nullable(),
      diagnostics: findingsSchema(),
      file: text,
      positions: positions.optional().catch(undefined),
    })
    .refine((agent) => agent.spec === null || /^[a-z][a-z0-9_-]{0,62}$/u.test(agent.id));
});

export type GivenAgent = z.infer<ReturnType<typeof agentSchema>>;
