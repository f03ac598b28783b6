import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRepaired } from '../../../packages/skill-files/format/repair.ts';
import { readSimple } from '../../../packages/skill-files/format/simple.ts';
import { readYaml } from '../../../packages/skill-files/format/yaml.ts';
import { words } from '../../words.ts';

/** Text that is likely to hit the border between what is certain and what only YAML can tell. */
const piece = fc.oneof(
  fc.constantFrom(
    ...words(`
      : # - , [ ] { } " ' '' | > &a *a !!str % @ ~ ? = << true True yes no on null Null 1 0 01 0x1F 0o17 1.0 1.50 1.0.0 1e5
      1_000 .5 5. -1 +1 2024-01-01 2024-1-1 12:30:45 .inf .nan Infinity --- ... 技能 мой é 😀 c++ .net
    `),
    ' ',
    ' #',
    ': ',
    '- ',
    '\\',
    '`',
    '\t',
    '\r',
    '\u00a0',
    '\u2028',
    '\u0085',
    '\ufeff',
  ),
  fc.stringMatching(/^[a-zA-Z0-9 ]{0,6}$/),
  fc.string({ unit: 'binary', maxLength: 4 }),
);
const wild = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(''));
const tame = fc
  .array(fc.oneof({ weight: 4, arbitrary: fc.stringMatching(/^[a-z0-9.,()-]{1,6}$/) }, { weight: 1, arbitrary: piece }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.join(' '));
const quoted = fc.oneof(tame, wild).chain((text) => fc.constantFrom(`"${text}"`, `'${text}'`, `"${text}" `, `${text} `));
const value = fc.oneof({ weight: 6, arbitrary: tame }, { weight: 2, arbitrary: quoted }, { weight: 1, arbitrary: wild });
const key = fc.oneof(
  { weight: 8, arbitrary: fc.stringMatching(/^[a-z_-]{1,3}$/) },
  fc.constantFrom(...words('name description tags metadata version allowed-tools true null __proto__ constructor <<'), 'a b'),
  wild,
);
const line = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(key, value).map(([name, text]) => `${name}: ${text}`) },
  fc
    .tuple(key, fc.constantFrom('', '  '), fc.array(value, { minLength: 1, maxLength: 3 }))
    .map(([name, indent, items]) => [`${name}:`, ...items.map((item) => `${indent}- ${item}`)].join('\n')),
  fc
    .tuple(key, fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 3 }))
    .map(([name, entries]) => [`${name}:`, ...entries.map(([inner, text]) => `  ${inner}: ${text}`)].join('\n')),
  fc.tuple(key, fc.constantFrom(':', ': ', ': |', ': >-')).map(([name, end]) => name + end),
  fc.tuple(fc.constantFrom('', ' ', '  ', '    '), value).map(([indent, text]) => `${indent}- ${text}`),
  fc.tuple(fc.constantFrom(' ', '  '), key, value).map(([indent, name, text]) => `${indent}${name}: ${text}`),
  fc.tuple(key, fc.array(value, { maxLength: 3 })).map(([name, items]) => `${name}: [${items.join(', ')}]`),
  wild,
);
const head = fc.array(line, { minLength: 1, maxLength: 2 }).map((lines) => `${lines.join('\n')}\n`);

describe('the fast reader', () => {
  it('S5 says exactly what YAML says, or nothing', () => {
    let taken = 0;
    fc.assert(
      fc.property(head, (text) => {
        const fast = readSimple(text, 2);
        if (fast === null) return;
        taken += 1;
        const slow = readYaml(text, 2);
        expect('failure' in slow ? slow : { findings: slow.findings, fields: plain(slow.fields) }).toEqual({
          findings: [],
          fields: plain(fast),
        });
      }),
      { numRuns: 20_000 },
    );
    expect(taken).toBeGreaterThan(500);
  });

  it('reads the frontmatter that most skills have without YAML', () => {
    const text =
      'name: pdf-tools\ndescription: Reads PDF files (tables, forms). Use when asked about a "PDF".\nversion: 1.2.0\ntags: [pdf, office files]\n';
    const fields = readSimple(text, 2);
    expect(Object.fromEntries([...(fields ?? [])].map(([name, field]) => [name, field.value]))).toEqual({
      name: 'pdf-tools',
      description: 'Reads PDF files (tables, forms). Use when asked about a "PDF".',
      version: '1.2.0',
      tags: ['pdf', 'office files'],
    });
    expect([...(fields ?? [])].map(([, field]) => field.line)).toEqual([2, 3, 4, 5]);
  });

  it('S5 never throws, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(head, fc.string({ unit: 'binary', maxLength: 200 })), (text) => {
        expect(() => [readSimple(text, 2), readRepaired(text, 2)]).not.toThrow();
      }),
      { numRuns: 3000 },
    );
  });
});

function plain(fields: ReadonlyMap<string, { value: unknown; line: number; column: number; source?: string; flow?: boolean }>): unknown {
  return [...fields].map(([name, { value, line, column, source, flow }]) => [
    name,
    value,
    line,
    column,
    flow ? undefined : source,
    flow === true,
  ]);
}
