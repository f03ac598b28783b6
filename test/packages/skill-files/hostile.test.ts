import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Mode, parseSkillFile } from '@pith/skill-files';
import { leastCpu } from '../../waiting.ts';
import { words } from '../../words.ts';

/** Of the processor's time. What is linear takes a few; what is quadratic takes hundreds. */
const BAR_MS = 50;
const LIMIT = 16 * 1024;

async function measured(content: string | Uint8Array, mode: Mode): Promise<void> {
  const parsed = () => parseSkillFile(content, { id: 'demo', file: '/demo/SKILL.md', mode });
  expect(await leastCpu(parsed, BAR_MS)).toBeLessThan(BAR_MS);
  const { valid, diagnostics, fields } = await parsed();
  expect(valid).toBe(!diagnostics.some(({ severity }) => severity === 'error'));
  const lines = (typeof content === 'string' ? content : Buffer.from(content).toString()).split('\n').length;
  for (const { line = 0, column = 0, cure } of diagnostics)
    expect([line >= 1 && line <= lines, column >= 1, cure !== undefined]).toEqual([true, true, true]);
  expect(() => JSON.stringify(fields)).not.toThrow();
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
}

const raw = (head: string) => `---\n${head}\n---\nBody.\n`;
const fill = (part: string | ((index: number) => string), limit = LIMIT - 200) => {
  let text = '';
  for (let index = 0; text.length < limit; index += 1) text += typeof part === 'string' ? part : part(index);
  return raw(text.slice(0, limit));
};

const HOSTILE: readonly [name: string, text: string][] = [
  ['colons in every line', fill('a: b: c\n')],
  ['colons under other keys', fill((index) => `k${index}: b: c\n`)],
  ['reserved characters in every line', fill((index) => `k${index}: @b c\n`)],
  ['tags in every line', fill((index) => `k${index}: !b c\n`)],
  ['anchors in every line', fill((index) => `k${index}: &a${index} c\n`)],
  ['comments in every line', fill((index) => `k${index}: #c\n`)],
  ['tabs in every line', fill('a:\n\tb: c: d\n')],
  ['only tabs', fill('\t')],
  ['directives', fill('%a\n')],
  ['brackets never closed', fill('[')],
  ['braces never closed', fill('{a: ')],
  ['brackets closed', raw(`a: ${'['.repeat(7000)}${']'.repeat(7000)}`)],
  ['brackets closed only within quotes', fill('["]",')],
  ['braces closed only within quotes', fill(`{"}":`)],
  ['brackets closed only in comments', fill('[ #]\n ')],
  ['brackets closed and never opened', fill(']')],
  ['spaces within a plain value', raw(`description: ${' '.repeat(8000)}x${' '.repeat(8000)}`)],
  ['brackets never closed in allowed-tools', raw(`allowed-tools: ${'a('.repeat(8000)}`)],
  ['nested dashes', fill('- ')],
  ['nested questions', fill('? ')],
  ['nested maps', raw(Array.from({ length: 170 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'))],
  ['quotes', fill('"')],
  ['one key again and again', fill('a: 1\n')],
  ['merge keys', raw(`a: &a {x: 1}\n${'<<: *a\n'.repeat(90)}`)],
  ['spaces after a key', raw(`description:${' '.repeat(15_000)}`)],
  ['spaces within a value', raw(`k: @${' '.repeat(15_000)}x: y`)],
  ['spaces around a colon', raw(`k: a${' '.repeat(7500)}: b${' '.repeat(7500)}c`)],
  ['colons after tabs', fill('k:\ta: b\n')],
  ['tabs, then colons', fill(' \tk: a: b\n')],
  ['aliases to nothing', fill('a: *b\n')],
  ['lists of colons', fill('- a: b: c\n')],
  ['spaces before a colon', fill(`description:${' '.repeat(900)}x: y\n`)],
  ['a value of many lines', fill((index) => (index === 0 ? 'description: @a\n' : '  b: c\n'))],
  ['a block never ended', raw(`description: |\n${' x\n'.repeat(5000)}`)],
  ['dashes', `---\n${'---x\n'.repeat(50_000)}`],
  ['blank lines', `${'\n'.repeat(200_000)}---\n`],
  [
    'prototype',
    raw('__proto__:\n  polluted: yes\nconstructor:\n  prototype:\n    polluted: yes\ntoString: x\nmetadata:\n  __proto__: {polluted: 1}'),
  ],
];

describe('hostile files', () => {
  beforeAll(() => measured(raw('a: b: c\nd: [e'), 'lint').catch(() => undefined)); // what is imported once
  it.each(HOSTILE)('S5 %s: told in time, never thrown', async (_name, text) => {
    await expect(measured(text, 'load')).resolves.toBeUndefined();
    await expect(measured(text, 'lint')).resolves.toBeUndefined();
  });

  it('S5 a body of 256 KiB in one line costs nothing', () =>
    expect(measured(`---\nname: demo\ndescription: d\n---\n${'x: '.repeat(87_000)}`, 'lint')).resolves.toBeUndefined());

  // fast-check prints seed and path of a failure: `fc.assert(…, { seed, path })` runs it again.
  const key = fc.constantFrom(
    ...words('name description tags metadata triggers scripts toolsets allowed-tools version __proto__'),
    'x y',
    '? z',
  );
  const scalar = fc.oneof(
    fc.constantFrom(...words(`@x "open it's | >- *a 1.0 yes ~`)),
    fc.constantFrom('', 'a: b', '[a, b]', '{a: b}', '&a b', '!t b', '# c', '- x', 'é 😀 \u202e'),
    fc.string({ unit: 'binary', maxLength: 20 }),
  );
  const line = fc.tuple(
    fc.constantFrom('', '  ', '\t', '    '),
    fc.option(key, { nil: '-' }),
    fc.constantFrom(': ', ':', ' ', ':\t'),
    scalar,
  );
  const frontmatter = fc.array(line, { maxLength: 12 }).map((lines) => raw(lines.map((parts) => parts.join('')).join('\n')));
  const ends = fc.constantFrom('\n', '\r\n', '\r');

  it('S4 S5 mutated frontmatter, in both modes', async () => {
    const mutated = fc
      .tuple(frontmatter, ends, fc.constantFrom('', '\uFEFF', '\n', ' '))
      .map(([text, end, lead]) => lead + text.replaceAll('\n', end));
    await fc.assert(fc.asyncProperty(mutated, fc.constantFrom<Mode>('lint', 'load'), measured), { numRuns: 500 });
  });

  it('S5 16 KiB of anything again and again: in time linear in the text', async () => {
    const row = fc.tuple(fc.constantFrom(' ', ':', '\t', '"', "'", '-', '[', ']', '{', '\n', 'a'), fc.constantFrom(1, 2, 70, 5000));
    const part = fc.oneof(
      fc.constantFrom('k: ', 'description: ', '- ', '? ', '&a ', '*a', ': ', ' #', '@', '!t ', '|\n', '>-\n', ', ', 'a: b: c\n', '\n\t'),
      row.map(([character, times]) => character.repeat(times)),
    );
    const unit = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''));
    const whole = fc.tuple(unit, unit).map(([first, rest]) => raw((first + rest.repeat(LIMIT / rest.length + 1)).slice(0, LIMIT - 10)));
    await fc.assert(fc.asyncProperty(whole, fc.constantFrom<Mode>('lint', 'load'), measured), { numRuns: 200 });
  });

  it('S5 any bytes, also in the middle of a skill', async () => {
    const whole = Buffer.from(raw('name: demo\ndescription: Counts lines.\ntags:\n  - a\nmetadata:\n  a: &a b\n  c: *a'));
    const spliced = fc
      .tuple(fc.nat(whole.length), fc.nat(6), fc.uint8Array({ maxLength: 12 }))
      .map(([at, cut, bytes]) => Buffer.concat([whole.subarray(0, at), bytes, whole.subarray(at + cut)]));
    await fc.assert(
      fc.asyncProperty(fc.oneof(spliced, fc.uint8Array({ maxLength: 300 })), fc.constantFrom<Mode>('lint', 'load'), measured),
      { numRuns: 500 },
    );
  });
});
