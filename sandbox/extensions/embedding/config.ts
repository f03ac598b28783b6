import { z } from 'pith';

/** Settings of the extension: `extensions.embedding`, and what it reads of the block `skills:`. */
export const config = z.strictObject({
  /** As the server names it; absent: there are no embeddings, and nothing is asked for. */
  model: z.string().min(1).nullable().default(null),
  /** Address up to and including the version: `http://127.0.0.1:11434/v1`. Absent: OPENAI_BASE_URL, else OpenAI. */
  base_url: z.url({ protocol: /^https?$/, error: 'must begin with http:// or https://' }).optional(),
  /** Length of the vectors, for models that have several. */
  dimensions: z.int().min(1).max(8192).optional(),
  /** Texts in one request, at most. */
  batch: z.int().min(1).max(2048).default(64),
  /** The variable that holds the key: one that the manifest declares, or that `extensions.embedding.secrets` names. */
  api_key_env: z.string().min(1).optional(),
  /** Seconds until a request is given up. */
  timeout_s: z.number().positive().max(50).default(20),
  /** Sent with every request, after the key's header. */
  headers: z.record(z.string(), z.string()).default({}),
  /** `skills.embedding`: `measured` leaves out a model that makes the order of the skills' examples worse, `off` asks for no vectors of skills. */
  embedding: z.enum(['measured', 'always', 'off']).default('measured'),
});

export type Config = z.infer<typeof config>;
