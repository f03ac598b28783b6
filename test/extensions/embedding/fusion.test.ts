import { describe, expect, it } from 'vitest';
import { fuse, RESCORED, SIMILAR, UNION_UP_TO } from '../../../sandbox/extensions/embedding/fusion.ts';

const ranked = (id: string, score: number) => ({ id, score, why: [id] });
/** A vector of length 1 whose cosine with `[1, 0]` is this. */
const near = (cosine: number) => Float32Array.from([cosine, Math.sqrt(1 - cosine * cosine)]);
const query = Float32Array.from([1, 0]);
const input = (values: Partial<Parameters<typeof fuse>[0]>) => ({
  lexical: [],
  query,
  vectors: new Map(),
  count: 10,
  k: 10,
  weak: false,
  ...values,
});

describe('R4 fusion', () => {
  it('adds 0.6 of the share of words to 0.4 of the cosine', () => {
    const fused = fuse(
      input({
        lexical: [ranked('a', 4), ranked('b', 2)],
        vectors: new Map([
          ['a', near(0.25)],
          ['b', near(1)],
        ]),
      }),
    );
    expect(fused.map(({ id, score }) => [id, Number(score.toFixed(4))])).toEqual([
      ['a', 0.7],
      ['b', 0.7],
    ]);
  });

  it('brings what no word brings, where it stands out', () => {
    const others = Array.from({ length: 60 }, (_, at) => [`z${at}`, near(0.1 + (at % 7) / 100)] as const);
    const fused = fuse(input({ lexical: [ranked('a', 1)], vectors: new Map([['a', near(0.1)], ['b', near(0.9)], ...others]), count: 62 }));
    expect(fused.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(fused[1]!.why).toEqual([SIMILAR]);
  });

  it('is silent where nothing stands out, and fills what has room anyway', () => {
    const vectors = new Map(Array.from({ length: 60 }, (_, at) => [`z${at}`, near(0.5 + (at % 7) / 100)] as const));
    expect(fuse(input({ vectors, count: 60 }))).toEqual([]);
    expect(fuse(input({ vectors, count: 60, weak: true, k: 3 }))).toHaveLength(3);
  });

  it('neither raises nor lowers a skill that has no vector yet', () => {
    const lexical = [ranked('a', 3), ranked('b', 2), ranked('c', 1)];
    const vectors = new Map([
      ['a', near(0.4)],
      ['c', near(0.4)],
    ]);
    expect(fuse(input({ lexical, vectors })).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(fuse(input({ lexical, vectors: new Map() }))).toEqual(lexical);
  });

  it('never adds an id that may not be seen', () => {
    const vectors = new Map([
      ['b', near(1)],
      ['c', near(0.9)],
    ]);
    expect(fuse(input({ vectors, among: (id) => id === 'c' })).map(({ id }) => id)).toEqual(['c']);
  });

  it(`with more than ${UNION_UP_TO} skills scores the first ${RESCORED} by words again, and leaves the rest after them`, () => {
    const lexical = Array.from({ length: 80 }, (_, at) => ranked(`s${String(at).padStart(2, '0')}`, 80 - at));
    const vectors = new Map([
      ['s49', near(1)],
      ['s50', near(1)],
      ['elsewhere', near(1)],
      ...lexical.slice(0, 49).map(({ id }) => [id, near(0)] as const),
    ]);
    const ids = fuse(input({ lexical, vectors, count: UNION_UP_TO + 1, k: 80, weak: true })).map(({ id }) => id);
    expect(ids.indexOf('s49')).toBeLessThan(10);
    expect(ids[50]).toBe('s50');
    expect(ids).not.toContain('elsewhere');
    expect(ids).toHaveLength(80);
  });

  it('does not compare vectors of different lengths', () => {
    const lexical = [ranked('a', 2), ranked('b', 1)];
    expect(fuse(input({ lexical, vectors: new Map([['b', Float32Array.from([1, 0, 0])]]) }))).toEqual(lexical);
  });
});
