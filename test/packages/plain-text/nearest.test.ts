import { didYouMean, nearest } from '@pith/plain-text';
import { expect, it } from 'vitest';

it('use.md LOW: a name that shares no letter with another is not near it', () => {
  expect(nearest('zz', ['g3', 'zy', 'mcp'])).toEqual(['zy']);
  expect(didYouMean('zz', ['g3'])).toBe('');
  expect(nearest('agnts', ['agents', 'tools'])).toEqual(['agents']);
});
