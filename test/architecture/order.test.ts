import { expect, it } from 'vitest';
import type { TestSpecification, Vitest } from 'vitest/node';
import { LongestFirst } from '../order.ts';

const file = (moduleId: string, name = 'together') =>
  ({ moduleId, project: { name, config: { sequence: { groupOrder: 0 } } } }) as unknown as TestSpecification;

it('on a clean clone what starts processes or a browser begins before the others, whatever its size', async () => {
  const nothingKnown = {
    config: { root: '/' },
    cache: { getFileStats: () => undefined, getFileTestResults: () => undefined },
  } as unknown as Vitest;
  const names = ['core/a', 'extensions/web_channel/b', 'packages/c', 'reliability/d', 'journeys/e'].map((each) => `/test/${each}.test.ts`);
  const sorted = await new LongestFirst(nothingKnown).sort([...names.map((each) => file(each)), file('/test/core/f.test.ts', 'apart')]);
  expect(sorted.map(({ moduleId }) => moduleId.slice(-9, -8))).toEqual(['f', 'b', 'd', 'e', 'a', 'c']);
});
