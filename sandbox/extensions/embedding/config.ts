import { z } from 'pith';

/** Settings of the extension: `extensions.embedding`, and its keys of the block `skills:`. */
export const config = z.strictObject({
  /** The server's name for the model; absent: no embeddings, and no requests. */
  model: z.string().min(1).nullable().default(null),
  /** Address up to and including the version: `http://127.0.0.1:11434/v1`. Absent: OPENAI_BASE_URL, else OpenAI. */
  base_url: z
    .url({ protocol: /^https?$/, error: 'must begin with http:// or https://' })
    .optional()
    .meta({ by_hand: 'says who is sent a key' }),
  /** The length of the vectors, for models with several. */
  dimensions: z.int().min(1).max(8192).optional(),
  /** The most texts in one request. */
  batch: z.int().min(1).max(2048).default(64),
  /** The variable with the key: one that the manifest declares, or that `extensions.embedding.secrets` names. */
  api_key_env: z.string().min(1).optional().meta({ by_hand: 'says who is sent a key' }),
  /** The time limit of a request in seconds. */
  timeout_s: z.number().positive().max(50).default(20),
  /** Sent with every request, after the key's header. */
  headers: z.record(z.string(), z.string()).default({}),
  /**
   * `skills.embedding`: `measured` ignores a model that makes the order of the skills' examples worse, `off` requests no vectors of skills.
   */
  embedding: z.enum(['measured', 'always', 'off']).default('measured'),
});

export type Config = z.infer<typeof config>;
