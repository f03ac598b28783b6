import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codeOf } from '../../../core/contract/index.ts';
import { errorFromData } from '../../../core/process/error-data.ts';
import { floodLimit, logAllowance } from '../../../core/process/rate-limits.ts';
import { checkedOffer, checkedResult } from '../../../core/process/offer.ts';
import { frame, kernelSide, OPERATIONS } from './kernel-side.ts';

function codeThrownBy(read: () => unknown): string {
  try {
    read();
    return 'none';
  } catch (error) {
    return codeOf(error, 'no code');
  }
}

const hostile = fc.constantFrom<unknown>(
  { toString: 1, valueOf: 1 },
  { toJSON: 1 },
  Object.assign([1], { map: 1, constructor: 1, filter: 2 }),
  new Map([[1, 2]]),
  new Set([1]),
  new Error('x', { cause: { a: 1 } }),
  new Uint8Array(3),
  new Date(0),
  /x/,
  10n,
  Object('boxed'),
  JSON.parse('{"__proto__":{"a":1}}'),
  NaN,
  undefined,
  null,
  -1,
  2 ** 40,
  0.5,
);
const anything = fc.oneof(
  { weight: 3, arbitrary: hostile },
  { weight: 2, arbitrary: fc.object({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.string() },
);
const message = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.integer({ min: 0, max: 10 }), fc.nat(20), fc.constantFrom(...OPERATIONS), fc.array(anything, { maxLength: 5 })),
  },
  { weight: 2, arbitrary: fc.tuple(fc.integer({ min: 0, max: 10 }), fc.nat(20), anything, anything, anything) },
  { weight: 1, arbitrary: anything },
);

describe('the kernel at the socket of an extension', () => {
  it('K10: no message throws into the kernel: it answers afterwards, or says why it hears no more', async () => {
    const property = fc.asyncProperty(fc.array(message, { maxLength: 8 }), async (messages) => {
      const ears = kernelSide();
      const call = ears.peer.call('x', []).catch(() => undefined);
      for (const each of messages) ears.hear(frame(each));
      await new Promise((resolve) => setImmediate(resolve));
      const before = ears.sent.length;
      ears.hear(frame([8]));
      expect(ears.sent.length > before || ears.why.length === 1).toBe(true);
      ears.peer.close(new Error('over'));
      await call;
    });
    await fc.assert(property, { numRuns: 500 });
  });

  it('K10: no bytes throw into the kernel', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const ears = kernelSide();
      const head = Buffer.alloc(4);
      head.writeUInt32LE(bytes.length);
      ears.hear(Buffer.concat([head, bytes]));
      ears.hear(Buffer.from(bytes));
      expect(ears.why.length).toBeLessThanOrEqual(1);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('K10: whatever stands in place of an error, a result or an offer is read without a throw that nobody expects', () => {
    const property = fc.property(
      fc.oneof(
        anything,
        fc.dictionary(fc.constantFrom('name', 'message', 'code', 'cause', 'phase', 'ok', 'error', 'title', 'retain'), anything),
      ),
      (value) => {
        expect(errorFromData(value)).toBeInstanceOf(Error);
        expect(typeof checkedResult({ ...(value as object), output: 1, metadata: undefined }).ok).toBe('boolean');
        const read = (): unknown =>
          checkedOffer({ operations: [value], descriptor: { tools: [value], warnings: [value], constants: {} } }, []);
        expect(codeThrownBy(read)).toMatch(/^(none|provides_mismatch|not_serialisable|parameter_invalid)$/);
      },
    );
    fc.assert(property, { numRuns: 500 });
  });

  it('K10: a change of the clock neither lets a flood through nor makes one', () => {
    const now = { ms: 0 };
    const floods: string[] = [];
    const limit = floodLimit(
      (why) => floods.push(why),
      () => now.ms,
    );
    for (let at = 0; at < 40_000; at += 1) {
      now.ms += 1; // a thousand in a second
      limit(10);
    }
    expect(floods).toEqual([]);
    for (let at = 0; at < 40_000; at += 1) limit(10);
    expect(floods).toHaveLength(1);
  });

  it('K10: what may be logged in a second is bounded, and what is left out is told once', () => {
    const told: string[] = [];
    const now = { ms: 0 };
    const allowed = logAllowance(
      (text) => told.push(text),
      () => now.ms,
    );
    expect(Array.from({ length: 100 }, () => allowed(8000)).filter(Boolean)).toHaveLength(32);
    expect(told).toHaveLength(1);
    now.ms = 1000;
    expect(allowed(8000)).toBe(true);
  });
});
