import { z } from 'pith';

/** Made when it is asked for, so that importing this file builds no schema. */
export function configSchema() {
  const bounds = (max_iterations: number, max_tool_calls: number, max_runtime_seconds: number) =>
    z
      .strictObject({
        max_iterations: z.int().min(1).default(max_iterations),
        max_tool_calls: z.int().min(1).default(max_tool_calls),
        max_runtime_seconds: z.int().min(1).default(max_runtime_seconds),
      })
      .prefault({});
  return z.strictObject({
    /** What 0 stands for, and what an author may use. */
    defaults: bounds(12, 30, 60),
    /** What an administrator may grant to a skill. */
    extended: bounds(50, 150, 600),
    /** What no run exceeds, whoever saved it. */
    ceiling: bounds(200, 1000, 3600),
    /** How far from 0 the priority of a user's runs may be. */
    priority_max_per_user: z.int().min(0).default(5),
    /** The target that gets whole results of `channel_with_summary`; empty: the channel of the run gets them. */
    summary_channel_id: z.string().default(''),
    /** Slots by the name of a lane. */
    lanes: z
      .record(
        z.string(),
        z.strictObject({
          slots: z.int().min(1).max(1000),
          /** How long a run has its slot for certain. */
          preemption_min_runtime_seconds: z.number().min(0).default(30),
        }),
      )
      .default({ 'skill-default': { slots: 4, preemption_min_runtime_seconds: 30 } }),
    /** Runs that may wait in one lane; a webhook is answered 503 then. */
    most_queued: z.int().min(1).default(1000),
    /** Runs that one run may compose, and how deep. */
    max_composed: z.int().min(1).default(8),
    max_depth: z.int().min(1).max(5).default(3),
  });
}

export type Config = z.infer<ReturnType<typeof configSchema>>;
