import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { FAULTS } from '../../scripts/break-it/faults.ts';

const read = (file: string): string => readFileSync(file, 'utf8');

/** Whether a title stands in `source`, or begins as a title of a table does, whose `$names` are filled. */
function hasTitle(source: string, title: string): boolean {
  const tables = [...source.matchAll(/'([^'\n]*\$\w+)/gu)].map(([, text = '']) =>
    text.split(/\$\w+/u).map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/gu, String.raw`\$&`)),
  );
  return source.includes(title) || tables.some((parts) => new RegExp(`^${parts.join('.+')}$`, 'u').test(title));
}

it.each(FAULTS)('the fault $name has its place in the code, and a test that notices it', ({ file, find, also, tests, notices }) => {
  for (const place of [{ file, find }, ...(also ? [also] : [])]) expect(read(place.file).split(place.find)).toHaveLength(2);
  expect(hasTitle(tests.map(read).join('\n'), notices), `${tests.join(', ')} has the title '${notices}'`).toBe(true);
});
