import { type Clock, codeOf, messageOf, type Command, type CommandInput, type CommandIO, type Remote } from 'pith';
import type { HttpUsers } from 'pith/http';
import { openInBrowser } from './browser.ts';

/** How often a server that starts is asked whether it listens. */
const ASK_MS = 200;

export interface WebPorts {
  readonly users: () => Remote<HttpUsers>;
  readonly clock: Clock;
}

/** `pith web`: opens the page; where nothing listens, it serves until Ctrl-C. */
export function webCommand({ users, clock }: WebPorts): Command {
  /** A new one-time address; null: there is none for one of these reasons. */
  const address = async ({ options: { port } }: CommandInput, ...reasons: readonly string[]): Promise<string | null> => {
    try {
      return await users().signInAddress(port as number | undefined);
    } catch (error) {
      if (!reasons.includes(codeOf(error, ''))) throw error;
      return null;
    }
  };
  const show = async (at: string, { options }: CommandInput, io: CommandIO): Promise<void> => {
    io.json({ address: at });
    if (options['print'] === true || io.wantsJson) return io.print(at);
    const isOpened = await openInBrowser(at, clock);
    io.print(
      isOpened ? `Opened the page in your browser. To open it again: pith web` : `Open it in a browser (once, within five minutes): ${at}`,
    );
  };
  const runBeforeStart: NonNullable<Command['runBeforeStart']> = async (input, io, start, signal) => {
    const at = await address(input, 'not_listening');
    if (at !== null) return show(at, input, io);
    if (input.options['print'] === true && !io.wantsJson && !io.quiet) return void (await start()); // what serves prints its address, and how it ends
    const ended = new AbortController();
    const over = AbortSignal.any([signal, ended.signal]);
    const showOnceServed = async (): Promise<void> => {
      while (!over.aborted) {
        const now = await address(input, 'not_listening', 'port_taken'); // its own server has the port a moment before it says so
        if (now !== null) return show(now, input, io);
        await clock.sleep(ASK_MS, over).catch(() => undefined); // it ends
      }
    };
    // The server goes on without it, and another `pith web` may open it.
    const shown = showOnceServed().catch((error: unknown) =>
      io.error(`pith: the page was not opened: ${messageOf(error)}; try again: pith web`),
    );
    try {
      await start();
    } finally {
      ended.abort();
      await shown;
    }
  };
  return {
    path: 'web',
    slash: false,
    description: 'Open the page in a browser, signed in; where nothing listens, serve it until Ctrl-C',
    options: [
      {
        name: 'port',
        type: 'number',
        description: 'Port: open what serves there, or serve there (default: extensions.http.port)',
      },
      { name: 'print', type: 'boolean', description: 'Print the address, which works once and for five minutes, and open nothing' },
    ],
    run: async (input, io) => show(await users().signInAddress(input.options['port'] as number | undefined), input, io),
    runBeforeStart,
  };
}
