import type { IncomingMessage } from 'node:http';
import type { Clock } from 'pith';

/** A request as Node has it. */
export type Incoming = IncomingMessage;

/** In each such time a body brings at least so many bytes, or ends: a slower one would keep its connection open for hours. */
const LOOK_MS = 30_000;
const LEAST_BYTES = 128 * 1024;
/** What is read and dropped of a body that is refused, so that its sender reads the answer before the connection ends. */
const MOST_DROPPED = 1024 * 1024;
const DROP_MS = 2000;

/** Whether a request has a body, empty or not. */
export function hasBody({ headers }: Incoming): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The body; or why it cannot be had. `gone`: the sender left. */
export async function readBody(incoming: Incoming, most: number, clock: Clock): Promise<Uint8Array | 'too large' | 'late' | 'gone'> {
  if (Number(incoming.headers['content-length'] ?? 0) > most) return 'too large';
  const parts: Uint8Array[] = [];
  let length = 0;
  let seen = 0;
  let isOver = false;
  return new Promise((resolve) => {
    const end = (result: Uint8Array | 'too large' | 'late' | 'gone'): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      incoming.off('data', take).off('end', whole).off('error', gone).off('close', gone).pause();
      resolve(result);
    };
    let cancel = (): void => undefined;
    const look = (): void => {
      if (isOver) return;
      if (length - seen < LEAST_BYTES) return end('late');
      seen = length;
      wait();
    };
    const wait = (): void => void (cancel = clock.after(LOOK_MS, () => void setImmediate(look))); // what has arrived while the process was busy is read first
    wait();
    const take = (part: Uint8Array): void => {
      length += part.length;
      if (length > most) end('too large');
      else parts.push(part);
    };
    const whole = (): void => end(Buffer.concat(parts));
    const gone = (): void => end('gone');
    incoming.on('data', take).on('end', whole).on('error', gone).on('close', gone);
  });
}

/** Reads on for a while after a refusal, then closes the connection. */
export function dropRest(incoming: Incoming, clock: Clock): void {
  let dropped = 0;
  const close = (): void => void incoming.socket.destroy();
  const cancel = clock.after(DROP_MS, close);
  incoming.on('data', (part: Uint8Array) => {
    dropped += part.length;
    if (dropped > MOST_DROPPED) close();
  });
  incoming.once('close', cancel);
  incoming.resume();
}
