import { z } from 'pith';

const address = z.url({ protocol: /^https?$/ });

/** Settings of the extension: `extensions.web`. */
export const config = z.strictObject({
  /** The service for web_search. Absent: SearXNG where its address is set, else Brave, else Tavily, whichever has a key. */
  search: z.enum(['brave', 'tavily', 'searxng', 'off']).optional(),
  /** A SearXNG server that answers in JSON: `https://search.example.org`. */
  searxng_url: address.optional().meta({ by_hand: 'opens an address that need not be public' }),
  /** Another address for the API of Brave or Tavily, such as a proxy. It gets the key. */
  base_url: address.optional().meta({ by_hand: 'says who is sent a key' }),
  /** Addresses outside of the public internet that web_fetch may read: `http://localhost:3000`. */
  private_origins: z.array(address).default([]).meta({ by_hand: 'opens addresses that are not public' }),
});

export type Config = z.infer<typeof config>;
