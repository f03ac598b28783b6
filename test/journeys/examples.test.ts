import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ChatBody } from '../fixtures/openai-server.ts';
import { linesOf } from './pith-process.ts';
import { ownFolder, ownServer, type OwnServer } from './until-test-ends.ts';

// Each example runs as in the project of somebody who copied its folder and installed what its package.json names, and Pith.
const SERVERS = ['express', 'hono', 'route-handler'] as const;

interface Running {
  readonly child: ChildProcess;
  /** Printed until now. */
  out(): string;
  /** How it ended, with all that it printed as a failure. */
  readonly ended: Promise<{ readonly code: number | null; readonly err: string }>;
}

async function start(example: string, file: string, env: Readonly<Record<string, string>> = {}): Promise<Running> {
  const { path: folder } = await ownFolder();
  const cwd = path.join(folder, 'app');
  await cp(path.resolve('examples', example), cwd, { recursive: true });
  const { dependencies = {} } = JSON.parse(await readFile(path.join(cwd, 'package.json'), 'utf8')) as { dependencies?: object };
  for (const name of ['pith', ...Object.keys(dependencies)]) {
    const place = path.join(cwd, 'node_modules', name);
    await mkdir(path.dirname(place), { recursive: true });
    await symlink(name === 'pith' ? path.resolve('.') : path.resolve('node_modules', name), place);
  }
  const child = spawn(process.execPath, [file], { cwd, env: { PATH: process.env['PATH'], HOME: folder, PORT: '0', ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const printed = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (printed.err += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, err: printed.err }));
  return { child, out: () => printed.out, ended };
}

interface Chats extends Running {
  /** Resolves with its events as they come; `body` replaces the usual one. */
  chat(user: string | null, text: string, how?: { readonly signal?: AbortSignal; readonly body?: string }): Promise<Response>;
}

async function startServer(example: string, env: Readonly<Record<string, string>> = {}): Promise<Chats> {
  const running = await start(example, 'server.js', env);
  const port = () => /port: (\d+)/.exec(running.out())?.[1];
  await expect.poll(port).toBeDefined();
  return {
    ...running,
    chat: (user, text, { signal = null, body = JSON.stringify({ text }) }: { signal?: AbortSignal | null; body?: string } = {}) =>
      fetch(`http://127.0.0.1:${port()}/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(user === null ? {} : { 'x-user': user }) },
        body,
        signal,
      }),
  };
}

/** The pieces of text, joined, and the last event. */
async function eventsOf(response: Response): Promise<{ readonly text: string; readonly end: unknown }> {
  expect([response.status, response.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/event-stream')]);
  const events = [...(await response.text()).matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, type, data = '']) => [
    type,
    JSON.parse(data),
  ]);
  expect(events.at(-1)?.[0]).toBe('end');
  return {
    text: events
      .filter(([type]) => type === 'text')
      .map(([, piece]) => piece)
      .join(''),
    end: events.at(-1)![1],
  };
}

/** It begins an answer and never ends it. */
const STALL = { text: ['one ', 'two '], stallAfter: 2 };

/** It breaks off within the answer. */
const BREAK = { text: ['one ', 'two '], streamError: { message: 'broken' } };

/** What a client gets where the model refuses, and where it breaks off. */
const FAILURES = [
  { text: '', end: { status: 'failed', code: 'model_failed' } },
  { text: 'one two ', end: { status: 'failed', code: 'model_failed' } },
];

const withModel = ({ env }: OwnServer) => ({ MODEL: 'openai/test', ...env });

/** All that was said to the model in this request, by the person and itself. */
const said = ({ messages }: ChatBody): string => JSON.stringify(messages.filter(({ role }) => role !== 'system'));

describe('U40 the examples', () => {
  it.each(SERVERS)(
    'U40 %s: offline, the answer quotes the skill of the folder; who is nobody, and what is not a message, is refused',
    async (example) => {
      const { chat, child, ended } = await startServer(example);
      const { text, end } = await eventsOf(await chat('anna', 'How do returns work?'));
      expect([text, end]).toEqual([expect.stringContaining('Goods come back within 30 days'), { status: 'done' }]);
      expect((await chat(null, 'hello')).status).toBe(401);
      expect((await chat('', 'hello')).status).toBe(401);
      for (const body of ['{}', 'null', '{"text":1}', '{"text":""}', '{"tex']) expect((await chat('anna', '', { body })).status).toBe(400);
      child.kill('SIGTERM');
      expect((await ended).code).toBe(0);
    },
  );

  it.each(SERVERS)(
    'U40 U47 %s: two people at once have a conversation each, who leaves ends their run, and SIGTERM all that is left',
    async (example) => {
      const server = await ownServer();
      const { chat, child, ended } = await startServer(example, withModel(server));
      const echo = (body: ChatBody) => ({ text: ['You', ' said: ', said(body)] });
      server.script(echo, echo, echo);
      const [anna, ben] = await Promise.all([chat('anna', 'apples').then(eventsOf), chat('ben', 'beans').then(eventsOf)]);
      expect([anna.text.includes('apples'), anna.text.includes('beans'), ben.text.includes('beans'), ben.text.includes('apples')]).toEqual([
        true,
        false,
        true,
        false,
      ]);
      const again = await eventsOf(await chat('anna', 'And?'));
      expect([again.text.includes('apples'), again.text.includes('beans'), again.end]).toEqual([true, false, { status: 'done' }]);

      server.script(STALL, STALL);
      const leaving = new AbortController();
      const left = await chat('anna', 'A long story', { signal: leaving.signal });
      await left.body!.getReader().read();
      leaving.abort();
      expect(await server.requests.at(-1)!.abandoned).toBe(true);

      const rest = eventsOf(await chat('ben', 'A long story'));
      await expect.poll(() => server.requests.length).toBe(5);
      child.kill('SIGTERM');
      expect((await rest).end).toEqual({ status: 'aborted' });
      expect(await ended).toEqual({ code: 0, err: '' });
    },
  );

  it.each(SERVERS)(
    'U40 %s: a run that fails ends the answer with its code, also within the answer, and the server goes on',
    async (example) => {
      const server = await ownServer();
      const { chat, child, ended } = await startServer(example, withModel(server));
      server.script({ status: 400, error: { message: 'refused' } }, BREAK, { text: 'Well.' });
      const answers = [];
      for (const text of ['a', 'b', 'c']) answers.push(await eventsOf(await chat('anna', text)));
      expect(answers).toEqual([...FAILURES, { text: 'Well.', end: { status: 'done' } }]);
      child.kill('SIGTERM');
      expect(await ended).toEqual({ code: 0, err: expect.stringMatching(/^.*refused.*\n.*broken.*\n$/) });
    },
  );

  it.each(SERVERS)('U40 %s: without a key, the answer ends with a code, and the server says what to do', async (example) => {
    const { chat, child, ended } = await startServer(example, { MODEL: 'openai/test' });
    expect(await eventsOf(await chat('anna', 'hello'))).toEqual({ text: '', end: { status: 'failed', code: expect.any(String) } });
    child.kill('SIGTERM');
    expect(await ended).toEqual({ code: 0, err: expect.stringContaining('OPENAI_API_KEY') });
  });

  it('U40 worker: a job that fails, also within the answer or without a text, ends with its code, and the worker goes on', async () => {
    const server = await ownServer();
    const { child, out, ended } = await start('worker', 'main.js', withModel(server));
    const lines = () => linesOf(out()).map(({ message: _message, ...line }) => line);
    const jobs = [{ text: 'a' }, { text: 'b' }, {}, { text: 'c' }];
    server.script({ status: 400, error: { message: 'refused' } }, BREAK, { text: 'Well.' });
    for (const [index, job] of jobs.entries()) {
      child.stdin!.write(`${JSON.stringify({ id: String(index), session: 'anna', ...job })}\n`);
      await expect.poll(() => lines().at(-1)).toMatchObject({ id: String(index), status: expect.any(String) });
    }
    expect(lines().filter((line) => 'status' in line)).toEqual([
      { id: '0', ...FAILURES[0]!.end },
      { id: '1', ...FAILURES[1]!.end },
      { id: '2', status: 'failed', code: 'settings_invalid', cure: 'give it as a string' },
      { id: '3', status: 'done' },
    ]);
    child.kill('SIGTERM');
    expect(await ended).toEqual({ code: 0, err: '' });
  });

  it('U40 U47 worker: works on jobs of two sessions at once, ends one that is cancelled, and then itself', async () => {
    const server = await ownServer();
    const { child, out, ended } = await start('worker', 'main.js', withModel(server));
    const give = (...jobs: readonly object[]) => child.stdin!.write(jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
    const printed = (id: string) => linesOf(out()).filter((line) => line['id'] === id);
    const text = (id: string) =>
      printed(id)
        .map((line) => line['text'] ?? '')
        .join('');
    const echo = (body: ChatBody) => ({ text: ['You', ' said: ', said(body)] });
    server.script(echo, echo);
    give({ id: '1', session: 'anna', text: 'apples' }, { id: '2', session: 'ben', text: 'beans' });
    for (const id of ['1', '2']) await expect.poll(() => printed(id).at(-1)).toEqual({ id, status: 'done' });
    expect([text('1'), text('2')]).toEqual([
      expect.stringMatching(/^(?!.*beans).*apples/s),
      expect.stringMatching(/^(?!.*apples).*beans/s),
    ]);

    server.script(STALL, STALL);
    give({ id: '3', session: 'anna', text: 'A long story' });
    await expect.poll(() => text('3')).toContain('one');
    give({ id: '3', cancel: true });
    await expect.poll(() => printed('3').at(-1)).toEqual({ id: '3', status: 'aborted' });
    expect(await server.requests.at(-1)!.abandoned).toBe(true);

    give({ id: '4', session: 'ben', text: 'A long story' });
    await expect.poll(() => text('4')).toContain('one');
    child.kill('SIGTERM');
    expect(await ended).toEqual({ code: 0, err: '' });
    expect(printed('4').at(-1)).toEqual({ id: '4', status: 'aborted' });
  });

  it('U40 worker: offline, it does all jobs of a file and ends', async () => {
    const { child, out, ended } = await start('worker', 'main.js');
    child.stdin!.end(`{"id":\n"stop"\nnull\n\n${await readFile('examples/worker/jobs.jsonl', 'utf8')}`);
    expect(await ended).toEqual({ code: 0, err: '' });
    const ends = linesOf(out()).flatMap(({ status }) => status ?? []);
    expect(ends.sort()).toEqual(['done', 'done', 'failed', 'failed', 'failed', 'failed']);
    expect(out()).toContain('30 ');
  });
});
