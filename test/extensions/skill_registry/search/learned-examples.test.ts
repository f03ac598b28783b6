import { appendFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TurnInfo } from 'pith';
import { exampleOf, TurnLessons } from '../../../../sandbox/extensions/skill_registry/search/turn-lessons.ts';
import { documentVersion } from '../../../../sandbox/extensions/skill_registry/search/ranker.ts';
import { LearnedExamples, type Lesson } from '../../../../sandbox/extensions/skill_registry/search/learned-examples.ts';
import { systemClock } from '@pith/promises';
import { logTo, skillSandbox } from '../skill-sandbox.ts';
import { skillOf } from '../skill-values.ts';
import type { Skill } from '../../../../sandbox/extensions/skill_registry/skill.ts';

async function folder() {
  const { project, log } = await skillSandbox();
  const dataDirectory = path.join(project, 'data');
  const open = () => new LearnedExamples({ dataDirectory, clock: systemClock, logger: logTo(log) });
  return { file: path.join(dataDirectory, 'examples.jsonl'), open, log };
}

const lesson = (skillId: string, text: string) => ({ skillId, text });
const WORDS = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'heath', 'islet', 'jetty', 'knoll', 'ledge', 'marsh'];
/** Texts of which no two have more than one word in common. */
const different = (count: number) =>
  Array.from({ length: count }, (_, at) => `${WORDS[at % 13]} number${at} ${WORDS[(at * 7 + 3) % 13]}x${at} thing${at}`);

describe('what is kept of a text', () => {
  const skill = skillOf('pdf-forms', { name: 'PDF Forms' });

  it.each(['yes please', 'ok, go on', 'and the second one too, please', 'PDF forms, pdf-forms!', 'use pdf-forms', '好的谢谢', ''])(
    'R5 nothing of %j: it says too little beside the name of the skill',
    (text) => expect(exampleOf(text, skill)).toBeNull(),
  );

  it('R5 one line of bounded length, without code', () => {
    expect(exampleOf('Fill in\n the tax\u202e declaration\n```\nlet secretSauce = 1;\n```\nfor me', skill)).toBe(
      'Fill in the tax declaration for me',
    );
    const long = exampleOf(`Fill in the tax declaration ${'and then more words '.repeat(40)}`, skill)!;
    expect(long.length).toBeLessThanOrEqual(300);
    expect(long).toMatch(/words$|more$|then$|and$/);
    expect(exampleOf('Fill in the tax declaration '.repeat(100), skill)).toBeNull(); // a document, not a request
    expect(exampleOf('填写税务申报表格并提交给税务局', skill)).toBe('填写税务申报表格并提交给税务局');
  });

  it.each([
    ['sk-ant-REDACTED'],
    ['ghp_abcdefghijklmnopqrstuvwx0123456789'],
    ['AIzaSyA-abcdefghijklmno'],
    ['AKIAIOSFODNN7EXAMPLE'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefg'],
    ['[secret OPENAI_API_KEY]'],
    ['Bearer abc.def.ghi'],
    ['https://user:word@example.org/private/path?x=abc'],
    ['www.example.com/private/abc'],
    ['intranet.example.com'],
    ['/home/ada/letters/bank.txt'],
    ['sk-\u200babcdefghijklmnop'],
    ['npm_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ'],
    ['٤١١١ ١١١١ ١١١١ ١١١١'],
    ['AccountName=abcdef'],
    ['A48213'],
    ['jane.doe@example.org'],
    ['+49 170 1234567'],
    ['4111 1111 1111 1111'],
    ['d41d8cd98f00b204e9800998ecf8427e'],
    ['correcthorsebatterystaplecorrecthorsebatterystaple'],
  ])('R5 without secrets and what says who somebody is: %s', (secret) => {
    const kept = exampleOf(`Fill in the tax declaration ${secret} for the office`, skill)!;
    const gone = secret.split(/[\s=]+/).at(-1)!;
    expect(kept).not.toContain(gone);
    expect(kept).not.toContain('[');
    expect(kept).toMatch(/^Fill in the tax declaration .*the office$/);
  });
});

describe('a text that speaks of what is secret', () => {
  const skill = skillOf('pdf-forms', { name: 'PDF Forms' });
  it.each([
    ['password=hunter', 'my password is swordfish', 'password hunter2', 'pwd=letmein', 'Server=db;User=sa;Pwd=letmein', 'passwd: X'],
    ['password "swordfish"', 'password -> swordfish', 'the password for the server is swordfish', 'credentials are admin:letmein'],
    [
      'user bob pass swordfish',
      'mot de passe azerty',
      'contraseña secreto',
      'contrasen\u0303a secreto',
      'ｐassword ： letmein',
      'Kennwort geheim',
    ],
    [
      'password is correct horse battery staple',
      'passphrase is blue monday',
      'pass\u200bword letmein',
      'ssn 12345',
      'code 83920',
      'the code is XKCD',
    ],
    ['abandon ability able about above absent absorb abstract absurd abuse access accident', 'AccountKey=abcdef==', '密码是天王盖地虎'],
    [
      '-----BEGIN RSA KEY----- MIIEabc -----END RSA KEY-----',
      '12 Main Street',
      'Hauptstraße 5',
      'my card number is in there',
      'пароль котик',
    ],
  ])('R5 is not learned from at all: %s', (...secrets) => {
    for (const secret of secrets)
      expect([secret, exampleOf(`Fill in the tax declaration of ours, ${secret}`, skill)]).toEqual([secret, null]);
  });

  it.each([
    'Review the code of my extension for best practices',
    'Please explain which code paths are slow, and why that is',
    'Compare the compass readings of both ships',
    'Make a birthday card for the office',
    'Write tests for package.json and README.md',
  ])('R5 other texts are: %s', (text) => expect(exampleOf(text, skill)).toBe(text));
});

describe('the file of learned examples', () => {
  it('R5 holds at most 20 of a skill: the most redundant goes, else the oldest', async () => {
    const { open } = await folder();
    const learned = open();
    const texts = different(20);
    for (const text of texts) await learned.add([lesson('a', text)]);
    expect(learned.of('a')).toEqual(texts);
    await learned.add([lesson('a', 'rotate the photographs by ninety degrees')]);
    expect(learned.of('a')).toHaveLength(20);
    await learned.add([lesson('a', 'rotate the photographs by ninety and crop their borders')]);
    expect(learned.of('a')).toHaveLength(20);
    expect(learned.of('a').at(-1)).toContain('crop');
    expect(open().of('a')).toEqual([]); // not read yet
    const again = open();
    await again.look();
    expect(again.of('a')).toEqual(learned.of('a'));
  });

  it('R5 keeps nothing that says the same again', async () => {
    const { open, file } = await folder();
    const learned = open();
    await learned.add([lesson('a', 'Convert the minutes to a table'), lesson('b', 'Convert the minutes to a table')]);
    await learned.add([lesson('a', 'please convert these MINUTES into tables')]);
    expect([learned.of('a'), learned.of('b')].map((texts) => texts.length)).toEqual([1, 1]);
    expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(2);
    expect((await stat(file)).mode & 0o077).toBe(0);
  });

  it('R5 loses nothing where several processes write, and each hears of the others', async () => {
    const { open } = await folder();
    const writers = [open(), open(), open()];
    const texts = different(30);
    await Promise.all(texts.map((text, at) => writers[at % 3]!.add([lesson(`skill-${at % 5}`, text)])));
    const reader = open();
    await reader.look();
    expect([...reader.ids()].sort()).toEqual([0, 1, 2, 3, 4].map((at) => `skill-${at}`));
    expect(reader.count(null)).toBe(30);
    await writers[0]!.look();
    expect(writers[0]!.count(null)).toBe(30);
    const before = writers[0]!.of('skill-3');
    await writers[1]!.add([lesson('skill-3', 'paint the garden fence in green')]);
    await writers[0]!.look();
    expect(writers[0]!.of('skill-3')).toEqual([...before, 'paint the garden fence in green']);
  });

  it('R5 skips damaged lines with a line in the log, and appends after a torn one', async () => {
    const { open, file, log } = await folder();
    await mkdir(path.dirname(file), { recursive: true });
    const whole = JSON.stringify({ skill: 'a', text: 'Convert the minutes to a table', at: 1 });
    await writeFile(
      file,
      `${whole}\nnonsense\n{"skill":7}\n${JSON.stringify({ skill: 'a', text: 'x'.repeat(5000), at: 2 })}\n{"skill":"b","te`,
    );
    const learned = open();
    await learned.look();
    expect(learned.ids()).toEqual(['a']);
    expect(log).toEqual([`warn ${file}: 4 damaged lines are left out`]);
    await learned.add([lesson('b', 'Paint the garden fence green')]);
    const again = open();
    await again.look();
    expect([...again.ids()].sort()).toEqual(['a', 'b']);
    expect(again.of('b')).toEqual(['Paint the garden fence green']);
  });

  it('R5 goes on without it where it is no file', async () => {
    const { open, file, log } = await folder();
    await mkdir(file, { recursive: true });
    const learned = open();
    await learned.look();
    expect(learned.ids()).toEqual([]);
    expect(log[0]).toContain('what was learned cannot be read');
    await expect(learned.add([lesson('a', 'Paint the garden fence green')])).rejects.toThrow('a folder stands in its place');
  });

  it('R5 is written anew when most of its lines count no more, and stays bounded', async () => {
    const { open, file } = await folder();
    await mkdir(path.dirname(file), { recursive: true });
    const rows = Array.from({ length: 700 }, (_, at) => `${JSON.stringify({ skill: 'a', text: `${at} amber things`, at })}\n`);
    await writeFile(file, rows.join(''));
    const learned = open();
    await learned.look();
    expect(learned.of('a')).toHaveLength(20);
    await learned.add([lesson('b', 'Paint the garden fence green')]);
    expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(21);
    await learned.look();
    expect(learned.count(null)).toBe(21);
  });

  it('R5 forgets one skill or all, damaged lines too', async () => {
    const { open, file } = await folder();
    const learned = open();
    await learned.add([lesson('a', 'Convert the minutes to a table'), lesson('b', 'Paint the garden fence green')]);
    await appendFile(file, 'nonsense\n');
    const other = open();
    await other.look();
    expect(await learned.forget('a')).toEqual(new Map([['a', 1]]));
    await other.look();
    expect(other.of('a')).toEqual([]);
    expect(await learned.forget(null)).toEqual(new Map([['b', 1]]));
    expect(await readFile(file, 'utf8')).toBe('');
  });

  it('R5 changes the version of one document only, and gives the former one back', async () => {
    const skill = skillOf('a');
    const version = documentVersion(skill, ['one text']);
    expect(version).not.toBe(documentVersion(skill));
    expect(documentVersion(skill, ['another'])).not.toBe(version);
    expect(documentVersion(skill, [])).toBe(documentVersion(skill));
  });
});

it('R5 nothing is learned from what the offline model loads: it takes the first of equals', async () => {
  const kept: Lesson[] = [];
  const learned = { add: async (lessons: readonly Lesson[]) => void kept.push(...lessons) } as unknown as LearnedExamples;
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const skillOf = (id: string) => ({ id, name: id }) as Skill;
  const lessons = new TurnLessons({ learned, logger, skillOf, allows: () => true, onLearned: () => {} });
  for (const ref of ['offline/librarian', 'some/model']) {
    const turn = { id: ref, depth: 0, model: { ref, contextWindow: null }, userTexts: ['Plan our paddling trip'] } as unknown as TurnInfo;
    lessons.loaded(turn, { skillId: ref.split('/')[0]!, how: 'tool' } as unknown as Parameters<TurnLessons['loaded']>[1]);
    lessons.ended({ turnId: ref, reason: 'done' });
  }
  await lessons.settled();
  expect(kept.map(({ skillId }) => skillId)).toEqual(['some']);
});
