import { z } from 'pith';

const server = z.strictObject({
  /** Address up to and including the version: `http://127.0.0.1:1234/v1`. */
  base_url: z
    .url({ protocol: /^https?$/, error: 'must begin with http:// or https://' })
    .optional()
    .meta({ by_hand: 'says who is sent a key' }),
  /** The environment variable with the key: one that the manifest declares, or any that the settings' `providers` name. */
  api_key_env: z.string().min(1).optional().meta({ by_hand: 'says who is sent a key' }),
  /** Sent with every request, after the key's header. */
  headers: z.record(z.string(), z.string()).default({}),
});

/** Settings of the extension. Those at the top apply to the prefix `openai`; `providers` has settings by prefix. */
export const config = server.extend({
  providers: z.record(z.string(), server).default({}),
  /** Tokens by model name; overrides the built-in table. A name also applies to names that begin with it. */
  context_windows: z.record(z.string(), z.int().positive()).default({}),
});

export type Config = z.infer<typeof config>;
export type ServerConfig = z.infer<typeof server>;
