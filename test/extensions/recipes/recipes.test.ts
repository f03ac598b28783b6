import { scriptedModel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { SlashCommands } from '../../../sandbox/extensions/cli_channel/slash-commands.ts';
import { CONVERSATION_COMMANDS } from '../../../sandbox/extensions/recipes/commands.ts';
import { agentFile } from '../../journeys/sandbox-files.ts';
import { kernelChat, person, pipe } from '../cli_channel/chats.ts';
import { kernelOf } from '../../places.ts';

const REVIEW = `---
description: Review a file
arguments:
  path:
    description: The file
  focus:
    default: "safety"
  text:
    description: What else
    default: ""
---
Review {{path}} for {{focus}}.{{text}}
`;
const AGENT = { 'agents/main/manifest.yaml': agentFile('main', {}), 'pith.yaml': 'default_agent: main\n' };

/** A chat about recipes, with a model that always answers the same. */
async function chatting(files: Readonly<Record<string, string>>) {
  const answer = { text: 'answer' };
  const chat = await kernelChat({
    only: ['cli_channel', 'recipes'],
    files: { ...AGENT, ...files },
    model: { ...scriptedModel(Array.from({ length: 9 }, () => answer)), expectFinished: () => undefined },
  });
  return { ...chat.pith, chat, said: () => chat.requests.map(({ input }) => input) };
}

describe('recipes in a conversation', () => {
  it('S92 /name arg=value says the rendered text: the model is sent it, and the thread keeps it', async () => {
    const model = scriptedModel([{ text: 'answer' }]);
    const chat = await kernelChat({ only: ['cli_channel', 'recipes'], files: { ...AGENT, 'recipes/check-it.md': REVIEW }, model });
    const { pith } = chat;
    const line = '/check-it path="my file.ts" focus={{path}}   And  "look" at --json twice';
    expect(await pipe(chat, ['--thread', 't1'], { lines: [line] })).toMatchObject({ code: 0, out: 'answer\n' });
    const said = JSON.stringify('Review my file.ts for {{path}}.And  "look" at --json twice').slice(1, -1);
    expect(JSON.stringify(model.requests[0]?.messages)).toContain(said);
    expect((await pipe(chat, [], { json: true, lines: ['/threads show t1'] })).out).toContain(said);

    await pith.write('recipes/skills.md', '---\ndescription: d\n---\nMine');
    await pith.write('recipes/broken.md', 'No head');
    const { text, values } = await pith.command('recipes list');
    expect(text).toMatch(/recipes\/skills\.md:1:1: warning: \/skills is a command already/);
    expect((values[0] as { name: string; state: string }[]).map(({ name, state }) => `${name} ${state}`)).toEqual([
      'check-it usable',
      'explain usable',
      'review usable',
      'skills hidden',
      'broken broken',
    ]);
    const notes = (await pith.kernel.doctor()).notes.filter(({ message }) => message.includes('ecipe'));
    expect(notes).toEqual([
      expect.objectContaining({ severity: 'warning', code: 'name_clash', message: expect.stringContaining("'/skills'") }),
      expect.objectContaining({ severity: 'error', code: 'recipe_head', file: `${pith.sandbox}/recipes/broken.md`, line: 1 }),
    ]);
  });

  it('S92 pith chat -r name arg=value says it, also with --json and with -p as free text', async () => {
    const { chat, said: sent } = await chatting({ 'recipes/check.md': REVIEW });
    expect(await pipe(chat, ['-r', 'check', 'path=a b.ts', 'focus=speed'])).toMatchObject({ code: 0, out: 'answer\n' });
    const { out } = await pipe(chat, ['-r', 'check', 'path=x', 'and', 'more'], { json: true });
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { type: string }).type)
        .at(-1),
    ).toBe('turn-end');
    await pipe(chat, ['-r', 'check', 'path=x', '-p', 'from=p']);
    expect(sent()).toEqual(['Review a b.ts for speed.\n', 'Review x for safety.and more\n', 'Review x for safety.from=p\n']);
  });

  it('S92 a text that begins with a slash is a message, and /name on a terminal shows what is said', async () => {
    const { chat, said } = await chatting({ 'recipes/slash.md': '---\ndescription: d\n---\n/help {{text}}\n' });
    await pipe(chat, ['-r', 'slash', 'me']);
    const user = person(chat);
    await user.sees('› ');
    await user.type('/slash you\n', '› /help you', 'answer');
    expect(await user.end()).toBe(0);
    expect(said()).toEqual(['/help me\n', '/help you\n']);
  });

  it('U25 the first word after a recipe is its first argument, where nothing is given by name', async () => {
    const { chat, said } = await chatting({
      'recipes/look.md':
        '---\ndescription: d\narguments:\n  path:\n    description: p\n  focus:\n    description: f\n    default: all\n---\n{{path}}|{{focus}}\n',
    });
    await pipe(chat, [], { lines: ['/look main.ts', '/look path=a.ts focus=b'] });
    expect(said()).toEqual(['main.ts|all\n', 'a.ts|b\n']);
    expect((await pipe(chat, [], { lines: ['/look main.ts and more'] })).err).toContain('takes no free text');
  });

  it('S92 says all that is missing, what is unknown with the nearest name, and leaves the model alone', async () => {
    const { chat } = await chatting({
      'recipes/two.md': '---\ndescription: d\n---\n{{one}} {{two}} {{three}}\n',
      'recipes/check.md': REVIEW,
    });
    expect((await pipe(chat, [], { lines: ['/two two=2'] })).err).toBe(
      "pith: wrong use of the recipe 'two': 'one', 'three' are missing; write: /two one=… two=… three=…\n",
    );
    expect((await pipe(chat, [], { lines: ['/two twoo=2'] })).err).toContain("it has no argument 'twoo' (did you mean 'two'");
    expect((await pipe(chat, [], { lines: ['/two one=1 and more'] })).err).toContain("it takes no free text, but was given 'and more'");
    expect((await pipe(chat, [], { lines: ['/check path=1 path=2'] })).err).toContain("'path' is given more than once");
    expect((await pipe(chat, [], { lines: ['/check path=1 text=2 three'] })).err).toContain("'text' is given by name and as free text");
    await expect(pipe(chat, ['-r', 'two'])).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining("'one', 'two', 'three' are missing"),
    });
    await expect(pipe(chat, ['-r', 'chekc'])).rejects.toMatchObject({
      code: 'usage',
      message: "no recipe 'chekc' (did you mean 'check'?)",
    });
  });

  it('S92 free text goes to the argument that says rest, else to text, else to the only one', async () => {
    const recipe = (args: string, body: string) => `---\ndescription: d\n${args}---\n${body}`;
    const pith = await kernelOf({
      only: ['recipes'],
      files: {
        'recipes/a.md': recipe('arguments:\n  text:\n    default: t\n  more:\n    rest: true\n', '{{text}}|{{more}}'),
        'recipes/b.md': recipe('arguments: [number]\n', 'Issue {{number}}'),
        'recipes/c.md': recipe('arguments:\n  - name: x\n    default: 1.0\n  - y\n', '{{x}} {{y}}'),
      },
    });
    expect((await pith.command('recipes show a free text')).values[0]).toEqual({ name: 'a', text: 't|free text' });
    expect((await pith.command('recipes show b 12')).text).toBe('Issue 12');
    expect((await pith.command('recipes show c y=2')).text).toBe('1.0 2');
    await expect(pith.command('recipes show c 2')).rejects.toThrow('takes no free text');
  });

  it('S92 a changed, new or removed file counts at once', async () => {
    const { chat, said, write, remove } = await chatting({ 'recipes/a.md': '---\ndescription: d\n---\nfirst' });
    await pipe(chat, [], { lines: ['/a'] });
    await write('recipes/a.md', '---\ndescription: d\n---\nsecond');
    await write('recipes/b.md', '---\ndescription: d\n---\nother');
    await pipe(chat, [], { lines: ['/b'] });
    await remove('recipes/a.md');
    expect((await pipe(chat, [], { lines: ['/a'] })).err).toContain('unknown command /a');
    expect(said()).toEqual(['first', 'other']);
  });
});

describe('recipe files', () => {
  it('S92 a command of that name wins; -r still reaches the recipe', async () => {
    const mine = (text: string) => `---\ndescription: d\n---\n${text}`;
    const { chat, said } = await chatting({ 'recipes/skills.md': mine('Mine'), 'recipes/help.md': mine('Help') });
    expect((await pipe(chat, [], { lines: ['/skills', '/help all'] })).out).toMatch(/code-review[^]*\n {2}\/agent/);
    expect(await pipe(chat, ['-r', 'skills'])).toMatchObject({ code: 0 });
    expect(said()).toEqual(['Mine']);
  });

  it('S92 what the conversation takes for itself is known', async () => {
    const { chat } = await chatting({});
    const slash = new SlashCommands({ ...chat.context, find: () => [] }, {} as never);
    expect((await slash.all()).map(({ path }) => path)).toEqual(CONVERSATION_COMMANDS);
  });

  const broken: readonly [file: string, text: string, at: string, message: string][] = [
    ['none', 'Just text', '1:1', 'it has no frontmatter'],
    ['open', '---\ndescription: d\n', '1:1', 'it has no frontmatter'],
    ['yaml', '---\ndescription: "d\n---\nx', '3:1', 'its frontmatter is not YAML'],
    ['list', '---\n- a\n---\nx', '2:1', 'not a list of `key: value`'],
    ['scalar', '---\ndescription: d\narguments: path\n---\nx', '3:12', 'neither a map nor a list'],
    ['value', '---\ndescription: d\narguments:\n  path: README.md\n---\n{{path}}', '4:9', "its argument 'path' has a value"],
    ['deep', '---\ndescription: d\narguments:\n  path:\n    default: [a]\n---\n{{path}}', '5:14', "the default of 'path' is not text"],
    ['name', '---\ndescription: d\narguments:\n  a b: {}\n---\nx', '4:3', "it has an argument 'a b'"],
    ['Upper', '---\ndescription: d\n---\nx', '1:1', "'Upper' cannot be typed after a slash"],
  ];
  it.each(broken)('S92 %s.md is listed with its place and harms nothing', async (name, text, at, message) => {
    const pith = await kernelOf({
      only: ['recipes'],
      files: { [`recipes/${name}.md`]: text, 'recipes/good.md': '---\ndescription: d\n---\nGood' },
    });
    const { text: out, values } = await pith.command('recipes list');
    expect(out).toContain(`${pith.sandbox}/recipes/${name}.md:${at}: error: `);
    expect(out).toContain(message);
    const row = (values[0] as { name: string; state: string; diagnostics: { cure: string | null }[] }[]).find((one) => one.name === name);
    expect([row?.state, row?.diagnostics.every(({ cure }) => cure)]).toEqual(['broken', true]);
    expect((await pith.command('recipes show good --message')).text).toBe('Good');
    await expect(pith.command(['recipes', 'show', name])).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(message),
    });
  });

  it('S92 warns of what is probably a mistake, and shows what a recipe takes', async () => {
    const odd = '---\nauthor: me\narguments:\n  path:\n    descripton: d\n  never: {}\n---\nSee {{path}}\nand {{pth}}';
    const pith = await kernelOf({ only: ['recipes'], files: { 'recipes/odd.md': odd } });
    const { text } = await pith.command('recipes show odd');
    expect(text.split('\n').map((line) => line.replace(`${pith.sandbox}/`, ''))).toEqual(
      expect.arrayContaining([
        'in a chat: /odd path=… never=… pth=…',
        "recipes/odd.md:2:1: warning: it has a field 'author', which means nothing here; keep description and arguments",
        "recipes/odd.md:5:5: warning: its argument 'path' has 'descripton' (did you mean 'description'?); keep description, default, rest",
        'recipes/odd.md:1:1: warning: it has no description; add `description:` that says what it is for',
        expect.stringContaining('recipes/odd.md:9:5: warning: {{pth}} is not among its arguments (did you mean'),
        expect.stringContaining("its argument 'never' is nowhere in the text"),
      ]),
    );
  });

  it('S92 takes CRLF and a byte order mark, and the text below byte for byte', async () => {
    const body = 'One\r\n{% two %} {{ }}\t \n---\n\n';
    const pith = await kernelOf({ only: ['recipes'], files: { 'recipes/crlf.md': `\uFEFF---\r\ndescription: d\r\n---\r\n${body}` } });
    expect((await pith.command('recipes show crlf --message')).values[0]).toEqual({ name: 'crlf', text: body });
  });

  it('S92 the sandbox goes before what ships; a broken file there hides none', async () => {
    const pith = await kernelOf({
      only: ['recipes'],
      files: { 'recipes/review.md': '---\ndescription: Mine\n---\nMine', 'recipes/explain.md': 'broken' },
    });
    expect((await pith.command('recipes show review --message')).text).toBe('Mine');
    expect((await pith.command('recipes show explain tides')).text).toContain('someone who is new to it:\n\ntides');
  });
});
