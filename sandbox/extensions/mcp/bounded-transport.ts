import type { Transport } from '@modelcontextprotocol/client';
import type { Clock } from 'pith';

/** Answers of ours that a server has not taken yet, and characters of them. */
const MOST_REPLIES = 100;
const MOST_UNSENT = 4 * 1024 * 1024;
/** Messages that nobody asked for, in so many milliseconds. */
const MOST_UNASKED = 20_000;
const UNASKED_MS = 10_000;

/** Ends the transport where its server asks and does not take the answers, or sends without end. `lost` is called with the reason. */
export function bound(transport: Transport, clock: Pick<Clock, 'now'>, lost: (why: string) => void): void {
  const send = transport.send.bind(transport);
  let [replies, unsent, unasked, since] = [0, 0, 0, 0];
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
  transport.onmessage = (message) => {
    if (!('method' in message)) return;
    if (clock.now() - since > UNASKED_MS) [unasked, since] = [0, clock.now()];
    unasked += 1;
    if (unasked > MOST_UNASKED) end(`it sent more than ${MOST_UNASKED} messages that nobody asked for in ${UNASKED_MS / 1000} s`);
  };
}
