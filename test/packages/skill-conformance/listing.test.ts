import { expect, it } from 'vitest';
import { listingOf } from '../../../packages/skill-conformance/listing.ts';

it.each([
  '[{"name":"demo"}]',
  'a new version is there\n[{"name":"demo"}]\n',
  '[warn] a new version is there\n[{"name":"demo"}]',
  '{"level":"info"}\n[{"name":"demo"}]\ndone',
  '{\n  "skills": [\n    {"name": "demo"}\n  ]\n}\nin 3 ms',
])('a listing is found among other lines: %j', (stdout) => {
  expect(listingOf(stdout)).toEqual([expect.objectContaining({ name: 'demo' })]);
});

it.each(['', 'nothing', '{"level":"info"}', '[warn] nothing'])('what is no listing is none: %j', (stdout) => {
  expect(listingOf(stdout)).toBeNull();
});
