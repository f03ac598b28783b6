import { expect, it } from 'vitest';
import { triggerOf } from '../../../sandbox/extensions/skill_evals/cases/case.ts';
import { readCases } from '../../../sandbox/extensions/skill_evals/cases/case-files.ts';
import { folderWith } from '../../places.ts';

const SKILL = { 'SKILL.md': '---\nname: letters\ndescription: Writes letters.\n---\nBODY\n' };
const casesIn = (files: Readonly<Record<string, string>>) => readCases(folderWith({ ...SKILL, ...files }));

it('P13 a case is train or held out as it says, else by its text alone, two in five held out, and always the same ones', async () => {
  const cases = await casesIn({
    'evals/evals.yaml':
      'triggers: [{ text: one, should: load, split: held_out }, { text: two, should: load, split: train }]\ntasks: [{ prompt: do it, split: held_out, expect: [{ contains: x }] }]\n',
  });
  expect(cases?.triggers.map(({ split }) => split)).toEqual(['held_out', 'train']);
  expect(cases?.tasks.map(({ split }) => split)).toEqual(['held_out']);
  const splits = Array.from({ length: 1000 }, (_, at) => triggerOf(`write letter ${at}`, 'load').split);
  const heldOut = splits.filter((split) => split === 'held_out').length;
  expect(heldOut).toBeGreaterThan(350);
  expect(heldOut).toBeLessThan(450);
  expect(Array.from({ length: 1000 }, (_, at) => triggerOf(`write letter ${at}`, 'not_load').split)).toEqual(splits);
});

const TASKS = JSON.stringify(
  {
    skill_name: 'letters',
    evals: [
      {
        id: 1,
        prompt: 'Write to my aunt',
        expected_output: 'A letter',
        files: ['evals/files/aunt.txt'],
        expectations: ['It greets', { text: 'It ends' }],
      },
      { id: 2, prompt: 'Write to my uncle', expected_output: 'A letter to an uncle', files: [] },
      { id: 3, prompt: 'Write to nobody', assertions: [{ description: 'It asks back', weight: 2 }] },
    ],
  },
  null,
  2,
);
const QUERIES = JSON.stringify([
  { query: 'letter to my aunt', should_trigger: true },
  { query: 'the weather', should_trigger: false },
]);

it.each([
  { name: 'plain', of: (text: string) => text },
  { name: 'with a byte order mark and CRLF', of: (text: string) => `\uFEFF${text.replaceAll('\n', '\r\n')}` },
])('P16 cases of other tools are read as they are, $name', async ({ of }) => {
  const cases = await casesIn({
    'evals/evals.json': of(TASKS),
    'evals/eval_queries.json': of(QUERIES),
    'evals/files/aunt.txt': 'Maud',
    'evals/evals.yaml': of('triggers:\n  - { text: a postcard, should: load }\n'),
  });
  expect(cases?.triggers.map(({ text, should }) => [text, should])).toEqual([
    ['a postcard', 'load'],
    ['letter to my aunt', 'load'],
    ['the weather', 'not_load'],
  ]);
  expect(cases?.tasks.map(({ prompt, expect: expected, files }) => ({ prompt, expected, files: files.map((file) => file.path) }))).toEqual([
    { prompt: 'Write to my aunt', expected: [{ judge: 'It greets' }, { judge: 'It ends' }], files: ['aunt.txt'] },
    { prompt: 'Write to my uncle', expected: [{ judge: 'The result is as expected: A letter to an uncle' }], files: [] },
    { prompt: 'Write to nobody', expected: [{ judge: 'It asks back' }], files: [] },
  ]);
});

it.each([
  ['evals/evals.json', '{\n  "evals": [ x ]\n}', /evals\.json(:2:14)?$/, 'is not valid JSON: '],
  [
    'evals/evals.json',
    '{"evals": [{"prompt": "a"}, {"promt": "b"}]}',
    /evals\.json$/,
    "case 2 cannot be read: 'prompt' is missing or has another form",
  ],
  ['evals/evals.json', '{"cases": []}', /evals\.json$/, "must be a list, or an object with 'evals'"],
  [
    'evals/eval_queries.json',
    '[{"query": "a", "should_trigger": "yes"}]',
    /eval_queries\.json$/,
    "case 1 cannot be read: 'should_trigger'",
  ],
  ['evals/evals.json', '[{"prompt": "a", "files": ["../../secret"]}]', /evals\.json$/, "there is no file '../../secret'"],
  ['evals/evals.yaml', 'tasks:\n  - prompt: a\n    expect: [{ regex: "(" }]\n', /evals\.yaml:3:\d+$/, 'the pattern cannot be used'],
  [
    'evals/evals.yaml',
    'tasks:\n  - prompt: a\n    expect: [{ contains: a, judge: b }]\n',
    /evals\.yaml:3:\d+$/,
    'must have exactly one of',
  ],
  ['evals/evals.yaml', 'tasks:\n  - prompt: a\n    files: [gone.txt]\n', /evals\.yaml:3:\d+$/, "there is no file 'gone.txt'"],
])('P9 P16 %s that cannot be read is an error that says where', async (file, text, where, message) => {
  const found = await casesIn({ [file]: text }).catch((error: unknown) => error);
  expect(found).toMatchObject({ code: 'evals_invalid', where: expect.stringMatching(where), message: expect.stringContaining(message) });
});

it('P9 a skill without cases has none', async () => expect(await casesIn({})).toBeNull());
