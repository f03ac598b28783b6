import { z } from '../../contract/index.ts';

/** What commands print with `--json`. Loaded for who describes it. */

const finding = () =>
  z.record(z.string(), z.json()).meta({ description: 'code, message and what else is known: severity, file, line, cure' });

export const agentResult = () =>
  z.strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    state: z.enum(['active', 'degraded', 'failed']),
    default: z.boolean().meta({ description: 'It answers who names none' }),
    model: z.string().nullable(),
    uses_tools: z.array(z.string()),
    finds_tools: z.array(z.string()),
    uses_skills: z.array(z.string()),
    delegates_to: z.array(z.string()),
    limits: z.record(z.string(), z.number()).nullable(),
    file: z.string().nullable(),
    diagnostics: z.array(finding()),
  });

export const toolResult = () =>
  z.strictObject({
    name: z.string(),
    extension: z.string(),
    onDemand: z.boolean(),
    description: z.string(),
    effect: z.enum(['read', 'write', 'external']),
    needsApproval: z.enum(['never', 'always', 'maybe']),
    inputSchema: z.record(z.string(), z.json()),
  });

export const modelResult = () =>
  z.union([z.strictObject({ id: z.string(), server: z.string() }), z.strictObject({ server: z.string(), problem: z.string() })]);

export const chosenModelResult = () => z.strictObject({ ref: z.string(), why: z.string(), unused: z.json().exactOptional() });

export const extensionResult = () =>
  z.strictObject({
    id: z.string(),
    state: z.enum(['active', 'idle', 'failed', 'blocked', 'disabled']),
    description: z.string(),
    version: z.string(),
    provides: z.array(z.string()),
    defines: z.array(z.string()),
    depends_on: z.array(z.string()),
    optional_depends_on: z.array(z.string()),
    shipped: z.boolean(),
    tier: z.enum(['in_process', 'process']).nullable(),
    directory: z.string(),
    generation: z.int(),
    asks: z.array(z.strictObject({ ask: z.string(), withheld: z.boolean(), never: z.string().nullable() })),
    phase: z.string().optional(),
    code: z.string().optional(),
    message: z.string().optional(),
    file: z.string().optional(),
    line: z.int().optional(),
    cure: z.json().optional(),
    notes: z.array(finding()),
  });

export const shownExtensionResult = () => extensionResult().extend({ manifest: z.json() });

export const jobResult = () => {
  const moment = z.number().nullable();
  const text = z.string().nullable();
  return z.strictObject({
    id: z.string(),
    name: z.string(),
    state: z.enum(['waiting', 'scheduled', 'running', 'suspended', 'failed', 'done', 'cancelled', 'dead']),
    open: z.boolean(),
    payload: z.json(),
    result: z.json(),
    error: z.json(),
    lane: text,
    owner: text,
    parent: text,
    unique: text,
    sequence: text,
    priority: z.int(),
    attempts: z.int(),
    mostAttempts: z.int(),
    lost: z.int(),
    fence: z.int(),
    wait: z.json(),
    whyWaiting: text,
    times: z.strictObject({ made: z.number(), at: z.number(), begun: moment, attemptBegun: moment, ended: moment }),
  });
};

export const shownJobResult = () => jobResult().extend({ notes: z.array(z.json()), children: z.array(z.string()) });
