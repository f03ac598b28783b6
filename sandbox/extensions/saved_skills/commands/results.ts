import { once } from '@pith/promises';
import { z } from 'pith';
import { inputFieldSchema } from '../domain/inputs.ts';
import { savedSkillSchema } from '../domain/saved-skill.ts';
import { RUN_CAUSES, RUN_STATES } from '../runs/run.ts';

/** A saved skill as `--json` prints it. */
export const savedResult = once(() => {
  const { webhook_secret: _secret, webhook_signing_key: _key, ...open } = savedSkillSchema().shape;
  return z.strictObject({ ...open, webhook_enabled: z.boolean() });
});

export const versionResult = once(() =>
  z.strictObject({ id: z.string(), number: z.int(), version: z.string(), authored_by: z.string().nullable(), created_at: z.int() }),
);

/** With what took its place, where it is retired. */
export const listedSavedResult = once(() => savedResult().extend({ successor: z.string().nullable() }));

export const shownSavedResult = once(() =>
  listedSavedResult().extend({
    next_runs: z.array(z.int()),
    run_inputs: z.array(inputFieldSchema()).nullable().meta({ description: 'Of the version that you would run; null: none' }),
    versions: z.array(versionResult()),
  }),
);

export const runResult = once(() => {
  const moment = z.int().nullable();
  const text = z.string().nullable();
  return z.strictObject({
    id: z.string(),
    skill: z.string(),
    version: z.string(),
    state: z.enum(RUN_STATES),
    user: z.string(),
    cause: z.enum(RUN_CAUSES),
    inputs: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    lane: z.string(),
    priority: z.int(),
    attempt: z.int(),
    queued_at: z.int(),
    started_at: moment,
    ended_at: moment,
    wait_ms: moment,
    steps: z.int(),
    tool_calls: z.int(),
    usage: z.strictObject({ inputTokens: z.int(), outputTokens: z.int() }),
    status: text,
    output: text,
    sealed: z.string().exactOptional().meta({ description: 'Why the result, which is encrypted, is not in `output`' }),
    error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
    extensions: z.record(z.string(), z.string()),
    delivery: z.enum(['none', 'waiting', 'delivered', 'failed']),
    delivery_error: text,
    pinned: z.boolean(),
    parent: text,
    thread: z.string(),
  });
});

export const shownRunResult = once(() => runResult().extend({ history: z.array(z.strictObject({ at: z.int(), what: z.string() })) }));

export const cancelledRunResult = once(() => z.strictObject({ ok: z.boolean(), id: z.string() }));
