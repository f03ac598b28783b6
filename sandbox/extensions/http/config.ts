import { z } from 'pith';

/** Built on demand, so that importing this file builds no schema. */
export function configSchema() {
  return z.strictObject({
    /** The address to listen on. By default, only this machine reaches it. */
    host: z.string().min(1).default('127.0.0.1'),
    port: z.int().min(0).max(65_535).default(7484),
    /** Host names that are served besides this machine's: what a proxy or tunnel sends as Host. */
    hosts: z.array(z.string().min(1)).default([]),
    /** Addresses and ranges of proxies whose X-Forwarded-For is trusted. */
    trusted_proxies: z.array(z.string().min(1)).default([]),
    /** The most connections: in all, and from one address that is not a trusted proxy. Others are closed. */
    connections: z.int().min(1).default(256),
    connections_per_address: z.int().min(1).default(64),
    /** Seconds for the headers of a request to arrive. */
    header_seconds: z.number().min(1).default(10),
  });
}

export type Config = z.infer<ReturnType<typeof configSchema>>;
