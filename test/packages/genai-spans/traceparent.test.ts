import { activeTraceparent, carried, partsUnder, startSpan, underTraceparent } from '@pith/genai-spans';
import { expect, it } from 'vitest';
import { collectSpans } from '../../span-collector.ts';

const [TRACE, SPAN] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
const GIVEN = `00-${TRACE}-${SPAN}-01`;

it('U51 nothing is carried while nobody collects spans', () => {
  expect(underTraceparent(GIVEN, activeTraceparent)).toBeUndefined();
  const work = () => 1;
  expect(carried(work)).toBe(work);
});

it('U51 work below a traceparent is in its trace, over waiting and wherever it is run later', async () => {
  collectSpans();
  const later = await underTraceparent(GIVEN, async () => {
    await Promise.resolve();
    expect(activeTraceparent()).toBe(GIVEN);
    return carried(() => activeTraceparent());
  });
  expect(activeTraceparent()).toBeUndefined();
  expect(later()).toBe(GIVEN);
});

it('U51 a later version of traceparent is read, what is malformed begins a trace of its own', () => {
  collectSpans();
  const read = (value: string | null) => underTraceparent(GIVEN, () => underTraceparent(value, activeTraceparent));
  expect(read(`01-${TRACE}-${SPAN}-00-more`)).toBe(`00-${TRACE}-${SPAN}-00`);
  const zeros = (length: number) => '0'.repeat(length);
  const malformed = ['', 'x', `ff-${TRACE}-${SPAN}-01`, `${GIVEN}-more`, GIVEN.toUpperCase(), `${GIVEN}\n`];
  const empty = [`00-${zeros(32)}-${SPAN}-01`, `00-${TRACE}-${zeros(16)}-01`];
  for (const each of [null, ...malformed, ...empty]) expect([each, read(each)]).toEqual([each, undefined]);
});

it('U51 each part of a generator is made below its span, also its end', async () => {
  const spans = collectSpans();
  const turn = startSpan({ operation: 'invoke_agent', attributes: { 'gen_ai.agent.name': 'a' } });
  const seen: (string | undefined)[] = [];
  async function* parts() {
    try {
      seen.push(activeTraceparent());
      yield 1;
      seen.push(activeTraceparent());
      yield 2;
    } finally {
      seen.push(activeTraceparent());
    }
  }
  for await (const part of partsUnder(turn, parts())) {
    expect(activeTraceparent()).toBeUndefined();
    if (part === 2) break;
  }
  expect(seen).toEqual(Array.from({ length: 3 }, () => `00-${spans[0]?.traceId}-${String(1).padStart(16, '0')}-01`));
});
