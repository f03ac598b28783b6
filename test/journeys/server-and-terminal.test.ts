import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { JsonValue } from 'pith';
import { expect, it, onTestFinished } from 'vitest';
import { linesOf, runPith, startPith, type PithProcess } from './pith-process.ts';
import { type AgentFile, agentFile, bare, extensionFiles } from './sandbox-files.ts';
import { freePort, ownFolder, ownServer } from './until-test-ends.ts';
import { until } from '../waiting.ts';

const RECORDER = extensionFiles('recorder', {
  provides: ['tool'],
  main: `
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { defineTool, z } from 'pith';
export default class {
  constructor(context) { this.folder = context.dataDirectory; }
  getTools() {
    return [defineTool({ name: 'record', description: 'Records.', input: z.object({}), execute: async () => {
      appendFileSync(path.join(this.folder, 'log'), 'recorded\\n');
      return 'recorded';
    } })];
  }
}
`,
});

const startedIn = ({ out }: PithProcess) =>
  linesOf(out().slice(0, out().lastIndexOf('\n') + 1)).filter(({ type }) => type === 'started') as unknown as readonly {
    readonly pid: number;
  }[];

/** The ids of a stream behind `last`, until one says `text`, or until `most` have come: then the connection is cut. */
async function idsBehind(url: string, token: string, last: string, { text = '', most = Infinity }): Promise<readonly string[]> {
  const cut = new AbortController();
  const headers = { authorization: `Bearer ${token}`, ...(last === '' ? {} : { 'last-event-id': last }) };
  const { body } = await fetch(`${url}/api/events`, { headers, signal: cut.signal });
  const ids: string[] = [];
  let read = '';
  try {
    for await (const part of body!.pipeThrough(new TextDecoderStream())) {
      read += part;
      const events = read.split('\n\n');
      read = events.pop() ?? '';
      for (const event of events) {
        expect(event).not.toContain('event: reset');
        const id = /^id: (.+)$/mu.exec(event)?.[1];
        if (id !== undefined && (last === '' || !event.includes('event: ready'))) ids.push(id);
        if (ids.length >= most || (text !== '' && event.includes(text))) return ids;
      }
    }
    return ids;
  } finally {
    cut.abort();
  }
}

/** `pith serve` with the token of Ann. */
async function served(agent: AgentFile = {}) {
  const server = await ownServer();
  const folder = await ownFolder({
    ...bare(['cli_channel', 'http', 'rest_api', 'openai_compatible'], { default_agent: 'helper' }),
    ...RECORDER,
    'agents/helper/manifest.yaml': agentFile('helper', agent),
  });
  const options = { cwd: folder.path, env: { ...server.env, PITH_USER: 'ann' } };
  const { out, err } = await runPith(['tokens', 'new', '--user', 'ann', '--json'], options);
  expect(err).toBe('');
  const { token } = JSON.parse(out) as { token: string };
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  const serving = startPith(['serve', '--json', '--port', port], { ...options, input: null });
  onTestFinished(async () => {
    serving.child.kill('SIGKILL');
    await serving.ended;
  });
  const listens = () =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(async () => startedIn(serving).length === 1 && listens());
  const ask = async (method: string, place: string, body?: JsonValue) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${url}${place}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    return (await answer.json()) as Record<string, JsonValue>;
  };
  return { server, folder, options, token, url, serving, listens, ask };
}

it('W16 W17 W6 kill -9 of a server in the middle of a turn: the turn goes on where it was, nothing is done twice, and the stream has no gap and no double', async () => {
  const { server, folder, token, url, serving, listens, ask } = await served({ uses_tools: ['recorder'] });
  const [ready = ''] = await idsBehind(url, token, '', { most: 1 });
  const { id } = (await ask('POST', '/api/threads', {})) as { id: string };
  server.script({ calls: [{ name: 'record', input: {} }] }, { text: 'cut off here', stallAfter: 1 });
  const lost = ask('POST', `/api/threads/${id}/messages`, { text: 'go' }).catch(() => null);
  await until(() => server.requests.filter(({ method }) => method === 'POST').length === 2);
  process.kill(startedIn(serving)[0]!.pid, 'SIGKILL');
  expect(await lost).toBeNull();
  await until(async () => startedIn(serving).length === 2 && listens());
  const state = async () => ((await ask('GET', `/api/threads/${id}`))['thread'] as { state: string }).state;
  await until(async () => (await state()) === 'cut_off'); // once the lease of the dead process is over
  server.script({ text: 'and here is the rest' });
  expect(await ask('POST', `/api/threads/${id}/continue`, {})).toMatchObject({ reason: 'done', text: 'and here is the rest' });
  expect(await readFile(path.join(folder.sandbox, 'data/extensions/recorder/log'), 'utf8')).toBe('recorded\n');
  expect((await ask('GET', `/api/threads/${id}`))['messages']).toMatchObject([{ text: 'go' }, {}, {}, { text: 'and here is the rest' }]);

  const last = ((await ask('POST', '/api/threads', {})) as { id: string }).id;
  server.script({ text: 'last' });
  await ask('POST', `/api/threads/${last}/messages`, { text: 'end' });
  const whole = await idsBehind(url, token, ready, { text: `"id":"${last}"` });
  const places: string[] = [];
  while (places.length < whole.length) {
    const most = Math.min(1 + Math.floor(Math.random() * 4), whole.length - places.length);
    places.push(...(await idsBehind(url, token, places.at(-1) ?? ready, { most })));
  }
  expect(places).toEqual(whole);
  expect(new Set(places).size).toBe(places.length);
}, 120_000);

it('W17 kill -9 of a server loses no message that waits: the turn before it goes on where it was, and then it is said', async () => {
  const { server, folder, serving, ask } = await served({ uses_tools: ['recorder'] });
  const { id } = (await ask('POST', '/api/threads', {})) as { id: string };
  server.script({ calls: [{ name: 'record', input: {} }] }, { text: 'cut off here', stallAfter: 1 });
  const lost = ask('POST', `/api/threads/${id}/messages`, { text: 'go' }).catch(() => null);
  await until(() => server.requests.filter(({ method }) => method === 'POST').length === 2);
  const waiting = ask('POST', `/api/threads/${id}/messages`, { text: 'and then' }).catch(() => null);
  await until(async () => (((await ask('GET', `/api/threads/${id}`))['live'] ?? {}) as { waiting?: number }).waiting === 1);
  server.script({ text: 'and here is the rest' }, { text: 'the second answer' });
  process.kill(startedIn(serving)[0]!.pid, 'SIGKILL');
  expect([await lost, await waiting]).toEqual([null, null]);
  const messages = async () => ((await ask('GET', `/api/threads/${id}`))['messages'] ?? []) as readonly { readonly text: string }[];
  await until(async () => (await messages()).at(-1)?.text === 'the second answer');
  expect((await messages()).map(({ text }) => text)).toEqual(['go', '', '', 'and here is the rest', 'and then', 'the second answer']);
  expect(await readFile(path.join(folder.sandbox, 'data/extensions/recorder/log'), 'utf8')).toBe('recorded\n');
}, 120_000);

it('W17 what is said in a terminal is told at once, and is stopped from the server', async () => {
  const { server, options, token, url, ask } = await served();
  server.script({ text: 'it goes on and on', stallAfter: 1 });
  const [ready = ''] = await idsBehind(url, token, '', { most: 1 });
  const chat = startPith(['chat', '--lines', '--json', '--thread', 'talk', '-p', 'begin'], options);
  expect(await idsBehind(url, token, ready, { text: '"id":"talk"' })).not.toEqual([]);
  await until(() => server.requests.some(({ method }) => method === 'POST'));
  expect(await ask('GET', '/api/threads/talk')).toMatchObject({
    thread: { state: 'running', userId: 'ann' },
    messages: [{ text: 'begin' }],
  });
  expect(await ask('POST', '/api/threads/talk/stop', {})).toEqual({ state: 'stopped' });
  expect(await chat.ended).toMatchObject({ err: expect.stringContaining('stopped by ann') as string });
}, 120_000);
