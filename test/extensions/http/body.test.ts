import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fakeClock } from 'pith/testing';
import { expect, it } from 'vitest';
import { type Incoming, readBody } from '../../../sandbox/extensions/http/body.ts';

const KIB = 1024;

/** What becomes of a body of which so much arrives every 30 seconds, five times. */
async function sent(bytes: number): Promise<number | string> {
  const clock = fakeClock();
  const body = Object.assign(new PassThrough(), { headers: {} });
  const read = readBody(body as unknown as Incoming, KIB * KIB, clock);
  for (let part = 0; part < 5; part++) {
    if (!body.write(Buffer.alloc(bytes))) await Promise.race([once(body, 'drain'), read]);
    await clock.advance(30_000);
    await nextTurn();
  }
  body.end();
  const found = await read;
  return typeof found === 'string' ? found : found.length;
}

it('W31 a body may take minutes while it arrives steadily, and ends once too little of it arrives', async () => {
  expect(await sent(150 * KIB)).toBe(5 * 150 * KIB);
  expect(await sent(100 * KIB)).toBe('late');
  expect(await sent(1)).toBe('late');
  expect(await sent(300 * KIB)).toBe('too large');
});
