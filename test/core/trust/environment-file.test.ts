import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CommandIO } from 'pith';
import { scriptedModel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { openEnvironmentFile } from '../../../core/trust/index.ts';
import { folderWith, kernelOf, writeFiles } from '../../places.ts';

const NAMES = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', '1X', '__proto__', 'constructor'];
function read(text: string) {
  const { get } = openEnvironmentFile(path.join(folderWith({ '.env': text }), '.env'));
  return NAMES.flatMap((name) => (get(name) === null ? [] : [[name, get(name)]]));
}

const EXTENSION = {
  'sandbox/extensions/spy/manifest.yaml':
    'id: spy\nname: Spy\nversion: 1.0.0\ndescription: For tests.\nentrypoint: main.ts\nprovides: [command]\nsecrets: [SPY_KEY, SPY_URL]\ncommands: [{ path: spy, description: Says what it gets }]\n',
  'sandbox/extensions/spy/main.ts': `export default class Spy {
  constructor(context) { this.context = context; }
  getCommands() {
    const get = (name) => { try { return this.context.getSecret(name); } catch (error) { return error.code; } };
    return [{ path: 'spy', description: 'Says what it gets', run: async (input, io) =>
      io.json([get('SPY_KEY') && [...get('SPY_KEY')].reverse().join(''), get('SPY_URL'), get('OTHER'), process.env.SPY_KEY ?? null]) }];
  }
}
`,
};

async function spied(files: Readonly<Record<string, string>>, options: Parameters<typeof kernelOf>[0] = {}) {
  const project = folderWith({ ...EXTENSION, ...files });
  const test = await kernelOf({ only: [], sandbox: path.join(project, 'sandbox'), ...options });
  const [value] = (await test.command('spy')).values;
  return { value: value as unknown[], test, project };
}

describe('U6 T1 the .env of a trusted project', () => {
  it('U6 is read as names and values, and nothing is put in', () => {
    expect(
      read(
        '\uFEFFA=1\r\nexport B = two words # why\n# C=3\nD="a\\nb" # x\nE=\'$A\'\nF=$A\nG=\nH="open\nnot a line\n1X=2\nA=again\nI=a#b\n__proto__=x\n',
      ),
    ).toEqual([
      ['A', 'again'],
      ['B', 'two words'],
      ['D', 'a\nb'],
      ['E', '$A'],
      ['F', '$A'],
      ['I', 'a#b'],
      ['__proto__', 'x'],
    ]);
    expect(read('A=\x1b[2J\nB="\u202e"')).toEqual([]);
  });

  it.each(['in_process', 'process'] as const)(
    'U6 gives declared names only, and no environment, to code that runs %s',
    async (isolation) => {
      const { value } = await spied({ '.env': 'SPY_KEY=canary-1234\nOTHER=not declared\n' }, { isolation });
      expect(value).toEqual(['4321-yranac', null, 'not_declared', null]);
    },
  );

  it('U6 T5 gives no address, by its name or by its value', async () => {
    const { value } = await spied({ '.env': 'SPY_URL=evil.example\nSPY_KEY=https://evil.example/v1\n' });
    expect(value).toEqual([null, null, 'not_declared', null]);
  });

  it('U6 comes after the environment and after what the person keeps', async () => {
    const env = { SPY_KEY: 'environment' };
    expect((await spied({ '.env': 'SPY_KEY=from-the-file' }, { env })).value[0]).toBe('tnemnorivne');
    const home = folderWith({ '.pith/secrets.json': JSON.stringify({ SPY_KEY: { value: 'kept-value', for: ['extension:spy'] } }) });
    chmodSync(path.join(home, '.pith'), 0o700);
    expect((await spied({ '.env': 'SPY_KEY=from-the-file' }, { home })).value[0]).toBe('eulav-tpek');
    writeFiles(home, { '.pith/secrets.json': JSON.stringify({ SPY_KEY: { value: 'kept-value', for: ['extension:other'] } }) });
    expect((await spied({ '.env': 'SPY_KEY=from-the-file' }, { home })).value[0]).toBe([...'secret_not_given'].reverse().join(''));
  });

  it('U6 K61 what it holds is kept out of texts, and listed without its value', async () => {
    const { test } = await spied({ '.env': 'SPY_KEY=canary-1234\n' });
    expect(test.kernel.host.secrets.redact('it is canary-1234')).toBe('it is [secret SPY_KEY]');
    expect(test.kernel.host.setup.secrets()).toContainEqual({ name: 'SPY_KEY', extensions: ['spy'], from: '.env', for: null, none: [] });
  });

  it('U6 K61 what a command prints has none of it, as text and as JSON', async () => {
    const main = EXTENSION['sandbox/extensions/spy/main.ts'].replace(
      'run: async (input, io) =>',
      "run: async (input, io) => { const key = this.context.getSecret('SPY_KEY'); io.print(`is ${key}`); io.error(`was ${key}`); return io.json([{ key }]); }, other: async (input, io) =>",
    );
    const { value, test } = await spied({ '.env': 'SPY_KEY=canary-1234\n', 'sandbox/extensions/spy/main.ts': main });
    expect(value).toEqual([{ key: '[secret SPY_KEY]' }]);
    expect((await test.command('spy')).text).toBe('is [secret SPY_KEY]\nwas [secret SPY_KEY]');
  });

  it.each(['in_process', 'process'] as const)(
    'U6 K61 what a command asks has none of it, and a choice is answered as the command gave it: %s',
    async (isolation) => {
      const main = EXTENSION['sandbox/extensions/spy/main.ts'].replace(
        'run: async (input, io) =>',
        `run: async (input, io) => { const key = this.context.getSecret('SPY_KEY'); if (!io.interactive) return;
          const said = [await io.ask('Use ' + key + '?', { choices: ['no', 'use ' + key], serious: ['shows ' + key] }), await io.ask('Which?')];
          return io.json([said[0] === 'use ' + key, said[1]]); }, other: async (input, io) =>`,
      );
      const { test } = await spied({ '.env': 'SPY_KEY=canary-1234\n', 'sandbox/extensions/spy/main.ts': main }, { isolation });
      const [command] = await test.kernel.host.providers.commands.of('spy');
      const seen: unknown[] = [];
      const ask: CommandIO['ask'] = async (question, options) => (seen.push([question, options]), options?.choices?.[1] ?? null);
      const io = { interactive: true, ask, json: (value: unknown) => seen.push(value) } as unknown as CommandIO;
      await command?.run({ arguments: {}, options: {} }, io, new AbortController().signal);
      const shown = { choices: ['no', 'use [secret SPY_KEY]'], serious: ['shows [secret SPY_KEY]'] };
      expect(seen).toEqual([
        ['Use [secret SPY_KEY]?', shown],
        ['Which?', isolation === 'process' ? {} : undefined],
        [true, null],
      ]);
    },
  );

  it('U6 K61 a key that is changed while Pith runs is kept out of texts from then on, and so is the former one', async () => {
    const { test, project } = await spied({ '.env': 'SPY_KEY=canary-1234\n' });
    const { secrets } = test.kernel.host;
    writeFileSync(path.join(project, '.env'), 'SPY_KEY=rotated-5678\n');
    expect(secrets.redactJson({ text: 'it is rotated-5678, was canary-1234' })).toEqual({
      text: 'it is [secret SPY_KEY], was [secret SPY_KEY]',
    });
    writeFileSync(path.join(project, '.env'), 'SPY_KEY=again-9999\n');
    expect(secrets.stream()?.feed('again-9999.')).toBe('[secret SPY_KEY].');
  });

  it('U6 T1 is not read where nobody trusts the project, or where the person was not shown it', async () => {
    const options = { accepts: false, home: folderWith() };
    const project = folderWith({ ...EXTENSION, '.env': 'OPENAI_API_KEY=canary-1234\n' });
    const test = await kernelOf({ only: [], sandbox: path.join(project, 'sandbox'), ...options, model: scriptedModel([]) });
    expect(test.kernel.host.setup.stored()).toEqual({});
    expect(test.kernel.host.secrets.redact('canary-1234')).toBe('canary-1234');
  });

  it('U6 a key in it chooses the model, as one in the environment does; an address does not', async () => {
    const project = folderWith({ 'sandbox/pith.yaml': '', '.env': 'OPENAI_API_KEY=canary-1234\nOPENAI_BASE_URL=http://evil.example\n' });
    const test = await kernelOf({ only: ['openai_compatible'], sandbox: path.join(project, 'sandbox') });
    expect(test.kernel.host.setup.stored()).toEqual({ OPENAI_API_KEY: 'canary-1234' });
    expect((await test.kernel.doctor()).model.ref).toBe('openai/gpt-5-mini');
  });

  it('U6 a change is read by the next question for it', () => {
    const project = folderWith({ '.env': 'A=one-value' });
    const file = openEnvironmentFile(path.join(project, '.env'));
    expect(file.get('A')).toBe('one-value');
    writeFileSync(path.join(project, '.env'), 'A=another-value');
    expect(file.get('A')).toBe('another-value');
  });

  it.each([
    ['a link', (file: string) => symlinkSync('/etc/environment', file)],
    ['a link to another file of the project', (file: string) => (writeFileSync(`${file}.x`, 'A=b'), symlinkSync('.env.x', file))],
    ['a hard link', (file: string) => (writeFileSync(`${file}.x`, 'A=b'), linkSync(`${file}.x`, file))],
    ['a fifo', (file: string) => execFileSync('mkfifo', [file])],
    ['10 MB', (file: string) => writeFileSync(file, `A=b\n${'#'.repeat(10_000_000)}`)],
    ['binary', (file: string) => writeFileSync(file, Buffer.from([0, 255, 254, 65, 61, 0, 1]))],
  ])('U6 one that is %s gives nothing and is not waited for', (_, make) => {
    const file = path.join(folderWith(), '.env');
    make(file);
    expect(openEnvironmentFile(file).get('A')).toBeNull();
  });
});
