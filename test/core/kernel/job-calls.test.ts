import { describe, expect, it } from 'vitest';
import { checkedEnd, jobText } from '../../../core/kernel/index.ts';

describe('how a job ended, as a separate process says it', () => {
  it.each([
    [{ kind: 'done', result: '{"a":[1,null]}' }],
    [{ kind: 'again', at: 5 }],
    [{ kind: 'wait', wait: { until: 1, deadline: 2, jobs: [], resume: true } }],
  ])('J17: takes %o', (end) => expect(checkedEnd(end)).toEqual(end));

  it.each([
    ['nothing', undefined, /did not say how the job ended/],
    ['a result that is no text', { kind: 'done', result: 1 }, /did not say how the job ended/],
    ['a result that is no JSON', { kind: 'done', result: '{' }, /JSON/],
    ['a result that is too long', { kind: 'done', result: JSON.stringify('x'.repeat(2 ** 20)) }, /longer than 1 MiB/],
    ['no time', { kind: 'again', at: Infinity }, /must be milliseconds since the epoch/],
    ['a time that no date has', { kind: 'again', at: 9e15 }, /must be milliseconds since the epoch/],
    ['a wait for nothing', { kind: 'wait', wait: {} }, /nothing to wait for/],
    ['a wait for no jobs', { kind: 'wait', wait: { jobs: [] } }, /nothing to wait for/],
    ['a wait for what is not known', { kind: 'wait', wait: { untill: 1 } }, /does not know 'untill'/],
    ['jobs that are no ids', { kind: 'wait', wait: { jobs: [1] } }, /at most 1000 ids/],
    ['too many jobs', { kind: 'wait', wait: { jobs: Array.from({ length: 1001 }, String) } }, /at most 1000 ids/],
    ['a resume that is no true', { kind: 'wait', wait: { resume: 1 } }, /can only be true/],
  ])('J17: refuses %s', (_, end, why) => expect(() => checkedEnd(end)).toThrow(why));
});

describe('what payloads and results may be', () => {
  it.each([
    ['a function', { a: [() => 1] }, 'x.a.0 is a function'],
    ['a date', { a: new Date(0) }, 'x.a is not a plain object'],
    ['no finite number', [Number.NaN], 'x.0 is not finite'],
    ['a cycle', cycle(), 'is a cycle or too deep'],
    ['more than 1 MiB', 'é'.repeat(2 ** 19), 'x is longer than 1 MiB'],
  ])('J3: not %s', (_, value, why) =>
    expect(() => jobText(value, 'x')).toThrow(expect.objectContaining({ code: 'not_serialisable', message: expect.stringContaining(why) })),
  );

  it('J3: nothing is null, and all else of JSON reads back the same', () => {
    const value = { text: 'nul \0 \ud800 \u2028', list: [1.5e300, -0.25, true, null, []], [String('__proto__')]: { deep: {} } };
    expect(jobText(undefined, 'x')).toBe('null');
    expect(JSON.parse(jobText(value, 'x'))).toEqual(value);
    expect(JSON.parse(jobText('x'.repeat(2 ** 20 - 2), 'x'))).toHaveLength(2 ** 20 - 2);
  });
});

function cycle(): unknown {
  const list: unknown[] = [];
  list.push(list);
  return list;
}
