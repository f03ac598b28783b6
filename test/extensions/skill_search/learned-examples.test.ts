import { describe, expect, it } from 'vitest';
import type { ExtensionContext, TurnInfo } from 'pith';
import { systemClock } from '@pith/promises';
import { openDatabase } from '../../../core/store/index.ts';
import { LearnedExamples, type Example } from '../../../sandbox/extensions/skill_search/learning/learned-examples.ts';
import { exampleOf, ExampleRecorder } from '../../../sandbox/extensions/skill_search/learning/example-recorder.ts';
import { words } from '../../words.ts';
import { skillOf } from '../skill_registry/skill-values.ts';

/** The same table, opened by as many as wish. */
function table(clock = systemClock) {
  const opened = openDatabase(':memory:');
  const database: ExtensionContext['database'] = {
    dialect: 'sqlite',
    all: async (sql, ...values) => opened.all(sql, ...values),
    get: async (sql, ...values) => opened.all(sql, ...values)[0] ?? null,
    write: async (statements) => statements.map((each) => ('sql' in each ? Number(opened.run(each.sql, ...(each.values ?? []))) : 0)),
  };
  return { open: () => new LearnedExamples({ database, clock }), rows: () => opened.all('select skill, text from skill_search__examples') };
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
    ...words(`
      sk-ant-REDACTED ghp_abcdefghijklmnopqrstuvwx0123456789 AIzaSyA-abcdefghijklmno AKIAIOSFODNN7EXAMPLE
      eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefg https://user:word@example.org/private/path?x=abc
      www.example.com/private/abc intranet.example.com /home/ada/letters/bank.txt npm_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ
      AccountName=abcdef A48213 jane.doe@example.org d41d8cd98f00b204e9800998ecf8427e
      correcthorsebatterystaplecorrecthorsebatterystaple
    `),
    '[secret OPENAI_API_KEY]',
    'Bearer abc.def.ghi',
    'sk-\u200babcdefghijklmnop',
    '٤١١١ ١١١١ ١١١١ ١١١١',
    '+49 170 1234567',
    '4111 1111 1111 1111',
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

describe('the table of learned examples', () => {
  it('R5 holds at most 20 of a skill: the most redundant goes, else the oldest', async () => {
    const { open, rows } = table();
    const learned = open();
    const texts = different(20);
    for (const text of texts) await learned.add([lesson('a', text)]);
    await learned.look();
    expect(learned.of('a')).toEqual(texts);
    await learned.add([lesson('a', 'rotate the photographs by ninety degrees')]);
    await learned.add([lesson('a', 'rotate the photographs by ninety and crop their borders')]);
    await learned.look();
    expect(learned.of('a')).toHaveLength(20);
    expect(rows()).toHaveLength(20);
    expect(learned.of('a').at(-1)).toContain('crop');
    expect(open().of('a')).toEqual([]); // not read yet
    const again = open();
    await again.look();
    expect(again.of('a')).toEqual(learned.of('a'));
  });

  it('R5 keeps nothing that says the same again', async () => {
    const { open, rows } = table();
    const learned = open();
    await learned.add([lesson('a', 'Convert the minutes to a table'), lesson('b', 'Convert the minutes to a table')]);
    await learned.add([lesson('a', 'please convert these MINUTES into tables')]);
    expect([learned.of('a'), learned.of('b')].map((texts) => texts.length)).toEqual([1, 1]);
    expect(rows()).toHaveLength(2);
  });

  it('R5 each process hears of what the others learned and forgot', async () => {
    const { open } = table();
    const [one, other] = [open(), open()];
    for (const [at, text] of different(30).entries()) await (at % 2 === 0 ? one : other).add([lesson(`skill-${at % 5}`, text)]);
    await one.look();
    expect([one.count(null), [...one.ids()].sort()]).toEqual([30, [0, 1, 2, 3, 4].map((at) => `skill-${at}`)]);
    const [before, untouched] = [one.of('skill-3'), one.of('skill-4')];
    const version = await one.look();
    await other.add([lesson('skill-3', 'paint the garden fence in green')]);
    const later = await one.look();
    expect(later).not.toBe(version);
    expect(one.of('skill-3')).toEqual([...before, 'paint the garden fence in green']);
    expect(one.of('skill-4')).toEqual(untouched);
    expect(await one.look()).toBe(later);
    expect(await other.forget('skill-3')).toEqual(new Map([['skill-3', before.length + 1]]));
    await one.look();
    expect(one.of('skill-3')).toEqual([]);
    await other.forget(null);
    await one.look();
    expect(one.count(null)).toBe(0);
  });

  it('R5 B7 what is older than 90 days counts no longer, and goes with the next that is learned', async () => {
    let now = 0;
    const { open, rows } = table({ ...systemClock, now: () => now });
    await open().add([lesson('a', 'Paint the garden fence')]);
    now = 89 * 86_400_000;
    const learned = open();
    await learned.look();
    expect(learned.count('a')).toBe(1);
    now = 91 * 86_400_000;
    const later = open();
    await later.look();
    expect(later.count('a')).toBe(0);
    await later.add([lesson('b', 'Grill sardines over charcoal')]);
    expect(rows()).toEqual([{ skill: 'b', text: 'Grill sardines over charcoal' }]);
  });
});

it('R5 nothing is learned from what the offline model loads: it takes the first of equals', async () => {
  const kept: Example[] = [];
  const learned = { add: async (examples: readonly Example[]) => void kept.push(...examples) } as unknown as LearnedExamples;
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const recorder = new ExampleRecorder({ learned, logger, skillOf: async (id) => ({ id, name: id }), allows: async () => true });
  for (const ref of ['offline/librarian', 'some/model']) {
    const turn = { id: ref, depth: 0, model: { ref, contextWindow: null }, userTexts: ['Plan our paddling trip'] } as unknown as TurnInfo;
    recorder.began(turn);
    const use = { threadId: 't', agentId: 'a', correlationId: null, state: 'loaded', how: 'read_skill' } as const;
    recorder.used({ ...use, turnId: ref, skillId: ref.split('/')[0]! });
    recorder.ended(turn, 'done');
  }
  await recorder.settled();
  expect(kept.map(({ skillId }) => skillId)).toEqual(['some']);
});
