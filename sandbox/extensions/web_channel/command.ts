import type { Command, Remote } from 'pith';
import type { HttpUsers } from 'pith/http';

/** `pith web`. */
export function webCommand(users: () => Remote<HttpUsers>): Command {
  return {
    path: 'web',
    slash: false,
    description: 'Print an address that opens the page in a browser, signed in; it works once, for five minutes',
    async run(_input, io) {
      const address = await users().signInAddress();
      io.json({ address });
      io.print(address);
    },
  };
}
