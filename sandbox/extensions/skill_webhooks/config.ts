import { z } from 'pith';

/** Built on demand, so that importing this file builds no schema. */
export function configSchema() {
  return z.strictObject({
    /** Headers that name a run's priority, besides X-Pith-Priority. */
    priority_headers: z.array(z.string().min(1)).default([]),
    /** The header with the older form of signatures. */
    legacy_header: z.string().min(1).default('X-Hub-Signature-256'),
    /** New requests to one skill per minute. */
    most_per_minute: z.int().min(1).default(60),
    /** The prefix of printed addresses, such as https://hooks.example.org. */
    public_url: z.string().default(''),
    /** Addresses outside of the public internet to which results may be sent: http://localhost:3000. */
    private_origins: z
      .array(z.url({ protocol: /^https?$/ }))
      .default([])
      .meta({ by_hand: 'opens addresses that are not public' }),
  });
}

export type Config = z.infer<ReturnType<typeof configSchema>>;
