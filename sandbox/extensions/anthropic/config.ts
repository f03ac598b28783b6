import { z } from 'pith';

const server = z.strictObject({
  /** The server's address with or without the version: `https://api.anthropic.com`. */
  base_url: z
    .url({ protocol: /^https?$/, error: 'must begin with http:// or https://' })
    .optional()
    .meta({ by_hand: 'says who is sent a key' }),
  /** The environment variable with the key: one that the manifest declares, or any that the settings' `providers` name. */
  api_key_env: z.string().min(1).optional().meta({ by_hand: 'says who is sent a key' }),
  headers: z.record(z.string(), z.string()).default({}),
});

export const config = server.extend({
  providers: z.record(z.string(), server).default({}),
  /** Tokens by model name; overrides the built-in figure. */
  context_windows: z.record(z.string(), z.int().positive()).default({}),
});

export type Config = z.infer<typeof config>;
export type ServerConfig = z.infer<typeof server>;
