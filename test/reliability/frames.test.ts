import { expect, it } from 'vitest';
import { framed, kernelSide, OPERATIONS, type Ears } from './kernel-side.ts';
import { words } from '../words.ts';

/** 4 thousand, in the long form 10 million. */
const FRAMES = process.env['PITH_TEST_LONG'] === '1' ? 10_000_000 : 4000;
const MB = 1024 * 1024;
const MOST_MEMORY = 512 * MB;
const SEED = 20_260_101;

it(
  'T11 F8: mutated frames cost their sender only: the kernel never throws, and its memory stays bounded',
  async () => {
    const random = randomFrom(SEED);
    const before = process.memoryUsage().rss;
    let peak = 0;
    let senders = 0;
    let answered = 0;
    let toldTwice = 0;
    let ears: Ears | undefined;
    for (let at = 0; at < FRAMES; at += 1) {
      if (!ears) {
        ears = kernelSide();
        ears.peer.call('x', []).catch(() => undefined);
        senders += 1;
      }
      ears.hear(framed(mutated(random)));
      const isTorn = random(50) === 0;
      if (isTorn) ears.hear(torn(random));
      if (isTorn || ears.why.length > 0 || ears.sent.length > 200) {
        toldTwice += ears.why.length > 1 ? 1 : 0;
        answered += ears.sent.length;
        ears.peer.close(new Error('over'));
        ears = undefined;
      }
      if (at % 1000 === 0) {
        await new Promise((resolve) => setImmediate(resolve));
        peak = Math.max(peak, process.memoryUsage().rss);
      }
    }
    expect(senders).toBeGreaterThan(FRAMES / 100);
    expect(answered).toBeGreaterThan(FRAMES / 100);
    expect(toldTwice).toBe(0);
    const grown = peak - before;
    if (FRAMES >= 1_000_000)
      process.stderr.write(`${FRAMES} frames, ${senders} senders ended, 0 throws; ${Math.round(grown / MB)} MB more at most\n`);
    expect(grown).toBeLessThan(MOST_MEMORY);
  },
  FRAMES >= 1_000_000 ? 3_600_000 : 60_000,
);

type Random = (below: number) => number;

/** xorshift32: the same numbers each time. */
function randomFrom(seed: number): Random {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const VALUES: readonly unknown[] = [
  { a: [1, 2, { b: 'c' }], text: 'ünïcode \u2028 "quoted"', none: null },
  ['k', { deep: [[[[[['x']]]]]] }],
  { name: 'PithError', message: 'm', code: 'provider_failed', phase: 'call', cause: { message: 'c' }, stack: 's' },
  { agent: 'asker', threadId: 'mine:1', input: 'hello' },
  ['info', 'a line', { key: 1 }],
  -0.5e-7,
  'text',
];

const BODIES: readonly Buffer[] = [
  ...OPERATIONS.flatMap((operation) =>
    VALUES.flatMap((value, at) => [0, 1, 7].map((kind) => [kind, at + 1, operation, Array.isArray(value) ? value : [value, value]])),
  ),
  ...[2, 3, 4, 5].flatMap((kind) => VALUES.map((value) => [kind, 1, value])),
  ...[0, 1, 33, -1, 1e9].map((parts) => [6, 1, parts]),
  [8],
  [9],
].map((message) => Buffer.from(JSON.stringify(message)));

const PIECES = [
  '\u0000',
  ...words(String.raw`
    [ ] { } " \ , : null 1e999 -0 4294967295 "__proto__": "constructor":{"prototype": "toString":1, "length":4294967295,
    \u0000 \ud800 [[[[[[[[[[[[[[[[
  `),
].map((text) => Buffer.from(text));

const EDITS: readonly ((body: Buffer, random: Random) => Buffer)[] = [
  (body, random) => {
    const changed = Buffer.from(body);
    if (changed.length > 0) changed[random(changed.length)] = random(256);
    return changed;
  },
  (body, random) => spliced(body, random(body.length + 1), 0, chosen(PIECES, random)),
  (body, random) => spliced(body, random(body.length + 1), random(8), Buffer.alloc(0)),
  (body, random) => spliced(body, random(body.length + 1), random(4), part(chosen(BODIES, random), random)),
  (body, random) => body.subarray(0, random(body.length + 1)),
  (body, random) => spliced(body, random(body.length + 1), 0, Buffer.alloc(random(200), chosen(PIECES, random))),
];

function mutated(random: Random): Buffer {
  let body = chosen(BODIES, random);
  for (let left = random(5); left > 0; left -= 1) body = chosen(EDITS, random)(body, random);
  return body;
}

/** A frame whose length is not that of what follows. */
function torn(random: Random): Buffer {
  const frame = framed(mutated(random));
  frame[random(4)] = random(256);
  return frame;
}

function part(body: Buffer, random: Random): Buffer {
  const from = random(body.length);
  return body.subarray(from, from + random(body.length - from) + 1);
}

function spliced(body: Buffer, at: number, less: number, more: Uint8Array): Buffer {
  return Buffer.concat([body.subarray(0, at), more, body.subarray(at + less)]);
}

function chosen<T>(from: readonly T[], random: Random): T {
  return from[random(from.length)] as T;
}
