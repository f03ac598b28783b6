import { z } from 'pith';

/** Built on demand, so that importing this file builds no schema. */
export function configSchema() {
  return z.strictObject({
    /** The address to listen on. By default, only this machine reaches it. */
    host: z.string().min(1).default('127.0.0.1').meta({ by_hand: 'says who can reach this Pith' }),
    port: z.int().min(0).max(65_535).default(7484),
    /** Host names that are served besides this machine's: what a proxy or tunnel sends as Host. */
    hosts: z.array(z.string().min(1)).default([]).meta({ by_hand: 'says who can reach this Pith' }),
    /** Origins of other sites whose pages may call, such as https://app.example.org. They need a token. */
    origins: z
      .array(z.url({ protocol: /^https?$/ }))
      .default([])
      .meta({ by_hand: 'lets pages of other sites call' }),
    /** Addresses and ranges of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted. */
    trusted_proxies: z.array(z.string().min(1)).default([]).meta({ by_hand: 'says whose word on addresses is taken' }),
    /** The agents that users who are not administrators reach, by every interface. What an agent hands to others is its own affair. */
    agents: z.array(z.string().min(1)).default(['*']),
    /** The most connections: in all, and from one address that is not a trusted proxy. Others are closed. */
    connections: z.int().min(1).default(256),
    connections_per_address: z.int().min(1).default(64),
    /** The most requests a minute: of one user, and from one address. Others are answered 429. */
    requests_per_user: z.int().min(1).default(1200),
    requests_per_address: z.int().min(1).default(2400),
    /** Seconds for the headers of a request to arrive. */
    header_seconds: z.number().min(1).default(10),
  });
}

export type Config = z.infer<ReturnType<typeof configSchema>>;
