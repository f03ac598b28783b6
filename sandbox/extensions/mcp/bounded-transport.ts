import type { Transport } from '@modelcontextprotocol/client';
import type { Clock } from 'pith';

/** The largest message that a server may send. */
export const MOST_BYTES = 4 * 1024 * 1024;

/** Answers of ours that a server has not taken yet, and characters of them. */
const MOST_REPLIES = 100;
const MOST_UNSENT = 4 * 1024 * 1024;
/** Messages of whatever kind, in ten seconds. */
const MOST_MESSAGES = 20_000;
const WINDOW_MS = 10_000;

/** Counts what comes, and begins again every ten seconds. */
export class TenSeconds {
  #amount = 0;
  #since = -Infinity;

  constructor(
    private readonly clock: Pick<Clock, 'now'>,
    private readonly most: number,
  ) {}

  /** False: with so much more there is too much. */
  allows(amount: number): boolean {
    if (this.clock.now() - this.#since > WINDOW_MS) [this.#amount, this.#since] = [0, this.clock.now()];
    this.#amount += amount;
    return this.#amount <= this.most;
  }
}

/** Ends the transport where its server asks and does not take the answers, or sends without end. `lost` is called with the reason. */
export function bound(transport: Transport, clock: Pick<Clock, 'now'>, lost: (why: string) => void): void {
  const send = transport.send.bind(transport);
  const messages = new TenSeconds(clock, MOST_MESSAGES);
  let [replies, unsent] = [0, 0];
  let over = false;
  const end = (why: string): void => {
    if (over) return;
    over = true;
    lost(why);
    void transport.close().catch(() => undefined); // it is gone either way
  };
  transport.send = async (message, options) => {
    if (over) throw new Error('it was stopped');
    if ('method' in message) return send(message, options);
    const size = JSON.stringify(message).length;
    replies += 1;
    unsent += size;
    try {
      if (replies > MOST_REPLIES || unsent > MOST_UNSENT) end('it asks and does not take the answers');
      else await send(message, options);
    } finally {
      replies -= 1;
      unsent -= size;
    }
  };
  // Whoever takes the messages calls this first.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the package has no other way
  transport.onmessage = () => {
    if (!messages.allows(1)) end(`it sent more than ${MOST_MESSAGES} messages in 10 s`);
  };
}
