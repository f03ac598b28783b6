import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ChatBody } from '../fixtures/openai-server.ts';
import { pithHere } from './pith-here.ts';
import { linesOf, startPith, type Folder, type PithProcess } from './pith-process.ts';
import { bare, extensionFiles } from './sandbox-files.ts';
import { ownFolder, ownServer, type OwnServer } from './until-test-ends.ts';
import { within } from '../waiting.ts';

/** Two tools that write a line into `log` and then wait while there is a file `hold`. */
const RECORDER = extensionFiles('recorder', {
  provides: ['tool'],
  main: `
import { appendFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import { defineTool, z } from 'pith';
export default class {
  constructor(context) { this.folder = context.dataDirectory; }
  getTools() {
    const tool = (name, effect) => defineTool({
      name, effect, description: 'Records.', input: z.object({ note: z.string() }),
      execute: async ({ note }) => {
        appendFileSync(path.join(this.folder, 'log'), name + ' ' + note + '\\n');
        while (existsSync(path.join(this.folder, 'hold'))) await new Promise((resolve) => setTimeout(resolve, 20));
        return 'recorded ' + note;
      },
    });
    return [tool('record', 'write'), tool('look', 'read')];
  }
}
`,
});

let server: OwnServer;
let folder: Folder;

beforeEach(async () => {
  server = await ownServer();
  folder = await ownFolder({ ...bare(['cli_channel', 'core_tools', 'openai_compatible']), ...RECORDER });
});

const data = (file: string) => path.join(folder.sandbox, 'data', 'extensions', 'recorder', file);
const log = async () => (existsSync(data('log')) ? (await readFile(data('log'), 'utf8')).trim().split('\n') : []);
const TALK = ['chat', '--lines', '--json', '--thread', 'talk'];
const here = (...argv: string[]) => pithHere(argv, { cwd: folder.path, env: server.env });
/** In a process, to be killed. */
const startChat = (message: string): PithProcess => startPith([...TALK, '-p', message], { cwd: folder.path, env: server.env });

async function resumed() {
  const { code, out, err } = await here(...TALK, '--resume');
  expect(code, err).toBe(0);
  return { events: linesOf(out), err };
}

async function killed(process: PithProcess): Promise<void> {
  process.child.kill('SIGKILL');
  expect(await process.ended).toMatchObject({ code: null, signal: 'SIGKILL' });
}

const bodies = (): readonly ChatBody[] => server.requests.filter(({ method }) => method === 'POST').map(({ body }) => body);
const toolTexts = (body: ChatBody) => body.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));

describe('a turn that was killed', () => {
  it('K45 continues after kill -9 between steps: the finished call is reused, nothing that was written is lost', async () => {
    server.script({ text: 'first answer' });
    await here(...TALK, '-p', 'first question');

    server.script(
      { text: 'I will record it.', calls: [{ name: 'record', input: { note: 'one' } }] },
      { text: 'never heard', stallAfter: 1 },
    );
    const process = startChat('second question');
    await expect.poll(() => bodies().length).toBe(3);
    await killed(process);
    expect(linesOf(process.out()).filter(({ type }) => type === 'tool-result')).toMatchObject([
      { name: 'record', ok: true, output: 'recorded one' },
    ]);

    server.script({ text: 'all recorded' });
    const { events } = await resumed();
    expect(events.at(-1)).toMatchObject({ type: 'turn-end', reason: 'done', text: expect.stringContaining('all recorded') });
    expect(await log()).toEqual(['record one']);
    const { messages } = bodies().at(-1)!;
    expect(messages.slice(1).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool']);
    expect(JSON.stringify(messages)).toMatch(/first question.*first answer.*second question.*I will record it.*recorded one/su);

    const show = await here('threads', 'show', 'talk', '--json');
    expect(show.out).toMatch(/first question.*first answer.*second question.*all recorded/su);
  });

  it('K45 E1 continues after kill -9 in a call: a write is told as interrupted, and what waited behind it runs', async () => {
    server.script(
      { text: 'ready' },
      {
        calls: [
          { id: 'a', name: 'record', input: { note: 'one' } },
          { id: 'b', name: 'look', input: { note: 'two' } },
        ],
      },
    );
    await here(...TALK, '-p', 'hello');
    await here('tools', 'call', 'look', '--input', '{"note":"zero"}'); // makes the data folder
    await writeFile(data('hold'), '');
    const process = startChat('do both');
    await expect.poll(log).toHaveLength(2);
    await killed(process);
    await rm(data('hold'));

    server.script({ text: 'done' });
    const { events } = await resumed();
    expect(events.at(-1)).toMatchObject({ type: 'turn-end', reason: 'done' });
    expect(await log()).toEqual(['look zero', 'record one', 'look two']);
    const [record, look] = toolTexts(bodies().at(-1)!);
    expect(record).toContain('interrupted');
    expect(look).toContain('recorded two');
  });

  it('K45 a new message instead of --resume goes on in the thread, with the answers of all calls', async () => {
    server.script({ calls: [{ name: 'record', input: { note: 'one' } }] }, { text: 'never heard', stallAfter: 1 });
    const process = startChat('question');
    await expect.poll(() => bodies().length).toBe(2);
    await killed(process);
    server.script({ text: 'here I am' });
    const { code, out, err } = await here(...TALK, '-p', 'are you there?');
    expect(code, err).toBe(0);
    expect(linesOf(out).at(-1)).toMatchObject({ reason: 'done', text: 'here I am' });
    const { messages } = bodies().at(-1)!;
    expect(JSON.stringify(messages)).toMatch(/question.*recorded one.*are you there/su);
    const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
    expect(messages.flatMap(({ tool_call_id }) => tool_call_id ?? [])).toEqual(calls);
  });

  it('SIGTERM in a turn ends cleanly within ten seconds, and the thread goes on', async () => {
    server.script({ text: 'never complete', stallAfter: 2 });
    const process = startChat('hello');
    await expect.poll(() => bodies().length).toBe(1);
    process.child.kill('SIGTERM');
    const ended = await within(10_000, process.ended);
    expect(ended.signal, ended.err).toBe(null);
    expect(ended.err).not.toMatch(/\n\s+at /u);
    expect(await server.requests.at(-1)!.abandoned).toBe(true);
    server.script({ text: 'back again' });
    const { code, out } = await here(...TALK, '-p', 'and now?');
    expect(code).toBe(0);
    expect(linesOf(out).at(-1)).toMatchObject({ reason: 'done', text: 'back again' });
  });
});
