import { readFileSync } from 'node:fs';
import { ATTRIBUTES, CONVENTIONS } from '@pith/genai-spans';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import { expect, it } from 'vitest';

/** Our own, and those that only the GenAI conventions have yet. */
const OTHER = /^(?:pith|gen_ai\.skill)\./u;

it('U51 the names of attributes are those of the conventions in the version that the table has', () => {
  const known = new Set<unknown>(Object.entries(conventions).flatMap(([name, value]) => (name.startsWith('ATTR_') ? [value] : [])));
  expect(Object.keys(ATTRIBUTES).filter((name) => !known.has(name) && !OTHER.test(name))).toEqual([]);
  const file = 'node_modules/@opentelemetry/semantic-conventions/package.json';
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  expect(CONVENTIONS).toContain(`semantic-conventions ${version} for the rest`);
});
