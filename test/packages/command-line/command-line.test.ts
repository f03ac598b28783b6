import { describe, expect, it } from 'vitest';
import { captureCommand, commandUsage, matchCommand, parseCommandInput, type CommandShape } from '@pith/command-line';
import { splitWords } from '@pith/plain-text';

const SHOW: CommandShape = {
  path: 'skills show',
  arguments: [
    { name: 'id', description: 'The skill', required: true },
    { name: 'paths', description: 'Files', variadic: true },
  ],
  options: [
    { name: 'all', type: 'boolean', description: 'All' },
    { name: 'count', short: 'k', type: 'number', description: 'How many', default: 5 },
    { name: 'text', short: 't', type: 'string', description: 'Text' },
    { name: 'tag', type: 'string', description: 'Tags', multiple: true },
  ],
};

describe('command lines', () => {
  it('takes the longest path that matches', () => {
    const commands = [{ path: 'skills' }, { path: 'skills show' }, { path: 'skill' }];
    expect(matchCommand(commands, ['skills', 'show', 'x'])).toEqual({ command: { path: 'skills show' }, rest: ['x'] });
    expect(matchCommand(commands, ['skills', 'other'])).toEqual({ command: { path: 'skills' }, rest: ['other'] });
    expect(matchCommand(commands, ['skil'])).toBeNull();
  });

  it('types arguments and options by the definition', () => {
    expect(parseCommandInput(SHOW, ['pdf', 'a.md', 'b.md', '--all', '-k', '3', '--text=--x', '--tag', 'a', '--tag', 'b'])).toEqual({
      arguments: { id: 'pdf', paths: ['a.md', 'b.md'] },
      options: { all: true, count: 3, text: '--x', tag: ['a', 'b'] },
    });
    expect(parseCommandInput(SHOW, ['pdf'])).toEqual({ arguments: { id: 'pdf' }, options: { count: 5 } });
    expect(parseCommandInput(SHOW, ['pdf', '--count', '-3', '--', '--file'])).toEqual({
      arguments: { id: 'pdf', paths: ['--file'] },
      options: { count: -3 },
    });
  });

  it.each([
    [[], "wrong use of 'skills show': <id> is missing"],
    [['x', '--alll'], "wrong use of 'skills show': unknown option '--alll' (did you mean '--all'?)"],
    [['x', '--text'], "wrong use of 'skills show': --text needs a value"],
    [['x', '--all=1'], "wrong use of 'skills show': --all takes no value"],
    [[' '], "wrong use of 'skills show': <id> is empty"],
    [['x', '--text', 'a', '-t', 'b'], "wrong use of 'skills show': --text is given more than once"],
    [['x', '--count', 'many'], "wrong use of 'skills show': --count must be a number, not 'many'"],
  ])('says what is wrong with %j', (words, message) => {
    expect(() => parseCommandInput(SHOW, words)).toThrow(
      expect.objectContaining({ code: 'usage', message, cure: `write: pith ${commandUsage(SHOW)}` }),
    );
  });

  it('U33 names the help where the usage is too long for a line', () => {
    const options = Array.from({ length: 12 }, (_, at) => ({ name: `option-${at}`, type: 'boolean', description: '' }) as const);
    expect(() => parseCommandInput({ path: 'chat', options }, ['--bogus'])).toThrow(
      expect.objectContaining({ cure: 'see: pith chat --help' }),
    );
  });

  it('refuses an argument too many', () => {
    expect(() => parseCommandInput({ path: 'doctor' }, ['x'])).toThrow("wrong use of 'doctor': unexpected argument 'x'");
  });

  it('writes a usage line', () => {
    expect(commandUsage(SHOW)).toBe('skills show <id> [paths…] [--all] [--count <count>] [--text <text>] [--tag <tag>…]');
  });

  it('splits a typed line into words, quotes and escapes included', () => {
    expect(splitWords(`show  "two words" 'it is' a\\ b --x="q \\"r\\"" it"s"`)).toEqual([
      'show',
      'two words',
      'it is',
      'a b',
      '--x=q "r"',
      'its',
    ]);
    expect(splitWords('')).toEqual([]);
    expect(splitWords('an "open quote')).toEqual(['an', 'open quote']);
  });
});

describe('captureCommand', () => {
  const provider = {
    extensionId: 'notes',
    getCommands: async () => [
      {
        path: 'notes list',
        description: 'Lists.',
        options: [{ name: 'limit', type: 'number' as const, description: 'How many', default: 3 }],
        run: async ({ arguments: given, options }: never, io: never) => {
          const { json, print, ask } = io as { json(v: unknown): void; print(t: string): void; ask(q: string): Promise<string | null> };
          json({ given, options });
          json(await ask('really?'));
          print('told');
          return 4;
        },
      },
    ],
  } as unknown as Parameters<typeof captureCommand>[0];

  it('gives the values, the text and the exit code, with the defaults of options; nobody answers', async () => {
    expect(await captureCommand(provider, 'notes list', { arguments: { id: 'a' } }, new AbortController().signal)).toEqual({
      exitCode: 4,
      values: [{ given: { id: 'a' }, options: { limit: 3 } }, null],
      text: 'told',
    });
  });

  it('rejects command_unknown', async () => {
    await expect(captureCommand(provider, 'notes', {}, new AbortController().signal)).rejects.toMatchObject({ code: 'command_unknown' });
  });
});
