import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderTable } from '@pith/command-line';
import { openKernel } from '../../../core/cli/index.ts';
import { writeFiles } from '../../places.ts';
import { cli } from './fakes.ts';

/** Each would do something to a terminal, or be read as something else. */
const HOSTILE = {
  clipboard: '\u001b]52;c;Y2FuYXJ5\u0007',
  title: '\u001b]0;owned\u001b\\',
  clear: '\u001b[2J\u001b[H',
  hidden: '\u001b[8mhidden\u001b[0m',
  c1: '\u009b31m\u009d0;x\u009c',
  overwritten: 'good\rbad',
  bidi: 'user\u202etxt.exe\u2066\u200f',
  unseen: 'pay\u200bpal\ufeff\u{e0041}',
  colour: '\u001b[31mred\u001b[39m',
};
const ALL = Object.values(HOSTILE).join(' ');

/** What a terminal would obey or not show, Pith's own ends of lines apart. */
const OBEYED = /[^\P{C}\n\t]|[\u2028\u2029]/u;

const SOURCE = `
import { defineTool, toolError, z } from 'pith';
const ALL = ${JSON.stringify(ALL)};
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
async function* parts() {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'text-start', id: '0' };
  for (const delta of ['It says ' + ALL.slice(0, 20), ALL.slice(20), '\\r', '\\nend']) yield { type: 'text-delta', id: '0', delta };
  yield { type: 'text-end', id: '0' };
  yield { type: 'finish', finishReason: { unified: 'stop' }, usage };
}
export default class {
  getTools() {
    return ['said', 'refused', 'thrown'].map((name) => defineTool({
      name,
      description: 'Does ' + ALL,
      input: z.object({}),
      effect: 'read',
      async execute() {
        if (name === 'thrown') throw new Error('boom ' + ALL);
        return name === 'said' ? ALL : toolError('no', 'not ' + ALL);
      },
    }));
  }
  async models() {
    return [];
  }
  getModel(name) {
    return { model: { specificationVersion: 'v3', provider: 'canary', modelId: name, supportedUrls: {}, doStream: async () => ({ stream: parts() }) }, contextWindow: null };
  }
  getCommands() {
    return [
      { path: 'canary says', description: 'Says', async run(_input, io) {
        io.print(ALL + String(io.colour));
        io.error(ALL);
        io.json({ [ALL]: ALL });
      } },
      { path: 'canary fails', description: 'Fails', async run() { throw new Error('boom ' + ALL); } },
    ];
  }
}
`;

describe('T19 F26: what comes from elsewhere steers no terminal', () => {
  let folder: string;
  const run = (argv: readonly string[], terminal = false) => cli(argv, { cwd: folder, openKernel, terminal });
  /** What of it a terminal would obey, beside colours on the output. */
  const obeyedIn = ({ out, err }: { readonly out: string; readonly err: string }) =>
    // oxlint-disable-next-line no-control-regex
    [out.replace(/\u001b\[\d+m/gu, ''), err].flatMap((text) => OBEYED.exec(text)?.[0] ?? []);

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-printable-')));
    await cli(['init'], { cwd: folder });
    writeFiles(path.join(folder, 'sandbox'), {
      'extensions/canary/manifest.yaml': JSON.stringify({
        id: 'canary',
        name: `Canary ${HOSTILE.bidi}`,
        description: `Sings ${ALL}`,
        version: '1.0.0',
        entrypoint: 'main.ts',
        provides: ['tool', 'command', 'model'],
        models: [{ prefix: 'canary' }],
        commands: ['says', 'fails'].map((does) => ({ path: `canary ${does}`, needs: 'initialized', description: does })),
      }),
      'extensions/canary/main.ts': SOURCE,
      'agents/assistant/manifest.yaml': `id: assistant\nname: Assistant\nversion: 1.0.0\ndescription: ${JSON.stringify(`Helps ${ALL}`)}\nagent:\n  uses_tools: [canary]\n  model: canary/x\n`,
    });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each([false, true])('T19 F26: output and errors of commands of an extension, terminal: %s', async (terminal) => {
    const says = await run(['canary', 'says'], terminal);
    expect(says.out).toContain(String.raw`\x1b]52;c;Y2FuYXJ5\x07`);
    expect(says.err).toContain(String.raw`user\u{202e}txt.exe`);
    expect(says.out).toContain('false'); // it is told that nothing takes its colours
    expect(says.out + says.err).not.toMatch(OBEYED);
    const fails = await run(['canary', 'fails'], terminal);
    expect(fails.code).toBe(1);
    expect(fails.err).toMatch(/boom\s+\\x1b\]52;c;Y2FuYXJ5\\x07/u); // a terminal's lines are wrapped
    expect(obeyedIn(fails)).toEqual([]);
  });

  it('T19 F26: JSON says the same value in characters that are seen', async () => {
    const { out } = await run(['canary', 'says', '--json']);
    expect(JSON.parse(out)).toEqual({ [ALL]: ALL });
    expect(out).not.toMatch(OBEYED);
  });

  it.each([false, true])('T19 F26: results and errors of tools, terminal: %s', async (terminal) => {
    const call = (tool: string) => run(['tools', 'call', tool], terminal);
    const [said, refused, thrown] = [await call('said'), await call('refused'), await call('thrown')];
    expect(said.out).toContain(String.raw`\x1b]52;c;`);
    expect(said.out).not.toMatch(OBEYED);
    expect(refused.err).toContain(String.raw`not \x1b]52;c;`);
    expect(thrown.err).toContain(String.raw`boom \x1b]52;c;`);
    for (const ran of [said, refused, thrown]) expect(obeyedIn(ran)).toEqual([]);
  });

  it('T19 F26: what a model says through a pipe', async () => {
    const chat = await run(['chat', '-p', 'hello']);
    expect(chat).toMatchObject({ code: 0 });
    expect(chat.out).toContain(String.raw`It says \x1b]52;c;Y2FuYXJ5\x07 \x1b]0;owned\x1b\ `);
    expect(chat.out).toMatch(/\nend\n$/u);
    expect(chat.out + chat.err).not.toMatch(OBEYED);
    expect(obeyedIn(await run(['chat', '-p', 'hello', '--json']))).toEqual([]);
    expect(obeyedIn(await run(['threads', 'list'], true))).toEqual([]);
  });

  it.each([
    'agents|list',
    'agents|show|assistant',
    'agents|prompt|assistant',
    'extensions|list',
    'extensions|show|canary',
    'tools|list',
    'doctor',
    '--help',
    'canary|--help',
    `no${ALL}`,
    `agents|show|no${ALL}`,
    `skills|show|no${ALL}`,
  ])('T19: pith %j', async (line) => {
    const words = line.split('|');
    expect(obeyedIn(await run(words))).toEqual([]);
    expect(obeyedIn(await run(words, true))).toEqual([]);
    expect(obeyedIn(await run([...words, '--json']))).toEqual([]);
  });

  it('T19: a line of the log', async () => {
    await run(['tools', 'call', 'thrown']);
    const log = await readFile(path.join(folder, 'sandbox/data/logs/pith.log'), 'utf8').catch(() => '');
    expect(log).not.toMatch(OBEYED);
    for (const line of log.split('\n').filter((each) => each !== '')) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });
});

describe('T19: the doors themselves', () => {
  it.each(Object.entries(HOSTILE))('T19: an error with %s', async (_name, text) => {
    const openKernel = () => Promise.reject(new Error(`it fails: ${text}`));
    const { code, err } = await cli(['nothing'], { openKernel, terminal: true });
    expect(code).not.toBe(0);
    expect(err).not.toMatch(OBEYED);
  });

  it('T19: a cell is one line, and no colour of its own', () => {
    const table = renderTable([{ name: `a\nb${ALL}` }], [{ title: 'NAME', value: ({ name }) => name }], 0);
    expect(table.split('\n')).toHaveLength(2);
    expect(table).not.toMatch(OBEYED);
  });
});
