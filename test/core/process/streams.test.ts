import { setImmediate as tick } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { pumpStream, WINDOW } from '../../../core/process/streams.ts';

/** A source without end that says when it was given back. */
function endless() {
  let returned = false;
  async function* parts() {
    try {
      for (let part = 0; ; part += 1) yield part;
    } finally {
      returned = true;
    }
  }
  return { parts: parts(), wasReturned: () => returned };
}

it('B6: a stream that is cancelled while it is still being opened is given back, and its pump ends', async () => {
  const { parts, wasReturned } = endless();
  const sent: unknown[] = [];
  const reasons: unknown[] = [];
  const entry = { abort: (reason: unknown) => void reasons.push(reason) };
  let open: (parts: AsyncIterable<unknown>) => void = () => undefined;
  const source = new Promise<AsyncIterable<unknown>>((resolve) => (open = resolve));
  let ended = false;
  const pump = pumpStream(source, { send: (part) => void sent.push(part), entry, ended: () => false }).then(() => (ended = true));
  entry.abort('nobody reads');
  await tick();
  open(parts);
  await tick();
  expect({ ended, sent, reasons }).toEqual({ ended: true, sent: [], reasons: ['nobody reads'] });
  await parts.next(); // a generator that has not begun has nothing to clean up: it is only over
  expect((await parts.next()).done).toBe(true);
  expect(wasReturned()).toBe(false);
  await pump;
});

it('B6: a stream whose part cannot be sent is given back', async () => {
  const { parts, wasReturned } = endless();
  const send = (): void => {
    throw new Error('not JSON');
  };
  await expect(pumpStream(parts, { send, entry: { abort: () => undefined }, ended: () => false })).rejects.toThrow('not JSON');
  await tick();
  expect(wasReturned()).toBe(true);
});

it('a stream that is cancelled while the other side has no room is given back', async () => {
  const { parts, wasReturned } = endless();
  const entry: { abort(reason: unknown): void } = { abort: () => undefined };
  const sent: unknown[] = [];
  const pump = pumpStream(parts, { send: (part) => void sent.push(part), entry, ended: () => false });
  await vi.waitFor(() => expect(sent).toHaveLength(WINDOW));
  entry.abort('enough');
  await pump;
  await tick();
  expect({ sent: sent.length, returned: wasReturned() }).toEqual({ sent: WINDOW, returned: true });
});
