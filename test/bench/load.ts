import { spawn, type ChildProcess } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { repository } from './child.ts';
import { scaled, spreadOf, type Bench } from './measure.ts';
import { inFolder, put } from './places.ts';

const TOKENS = 30;
const PACE_MS = 500;
/** The chats begin one after the other in this time, and are all open behind it. */
const BEGIN_MS = 10_000;

/** Streaming chats over HTTP at once, each with a word of its own: model, kernel and clients are three processes. W32 */
export const load: Bench = async ({ quick }) =>
  inFolder(async (folder) => {
    const many = quick ? 100 : 1000;
    const sandbox = path.join(folder, 'sandbox');
    const http = {
      connections: many + 50,
      connections_per_address: many + 50,
      requests_per_user: 1e6,
      requests_per_address: 1e6,
      header_seconds: 60,
    };
    await put(path.join(sandbox, 'pith.yaml'), JSON.stringify({ extensions: { http } }));
    await put(path.join(sandbox, 'agents/plain/manifest.yaml'), 'id: plain\nversion: 1.0.0\nagent: {}\n');
    await put(path.join(folder, 'model.cjs'), MODEL);
    const model = started(spawn(process.execPath, [path.join(folder, 'model.cjs')], { stdio: ['pipe', 'pipe', 'inherit'] }));
    const address = `http://127.0.0.1:${await model.line()}/v1`;
    const runner = [path.join(repository, 'scripts/run-ts.mjs'), path.join(repository, 'test/bench/load-kernel.ts')];
    const kernel = started(spawn(process.execPath, [...runner, sandbox, address], { stdio: ['pipe', 'pipe', 'inherit'] }));
    try {
      const { port, token } = JSON.parse(await kernel.line()) as { readonly port: string; readonly token: string };
      const chat = (word: string) => chatOnce({ port, token, word });
      await Promise.all(Array.from({ length: 10 }, (_, at) => chat(`warm${at}`)));
      const figures = async () => JSON.parse(await kernel.ask()) as { readonly rss: number; readonly p99: number };
      const before = await figures();
      const begun = Array.from({ length: many }, async (_, at) => {
        await waited((at * BEGIN_MS) / many);
        return chat(`w${at}x${Math.random().toString(36).slice(2)}`);
      });
      const outcomes = Promise.all(begun);
      await waited((BEGIN_MS + TOKENS * PACE_MS) / 2);
      const during = await figures();
      const wrong = (await outcomes).filter((problem) => problem !== null);
      if (wrong.length > 0) throw new Error(`${wrong.length} of ${many} chats failed: ${wrong.slice(0, 3).join('; ')}`);
      const note = `${many.toLocaleString('en')} chats at once, none failed or had another's words`;
      const must = many === 1000;
      return [
        {
          figure: 'memory of a streaming chat over HTTP',
          unit: 'KB',
          measured: scaled(spreadOf([during.rss - before.rss]), 1 / 1024 / many),
          floor: null,
          ...(must && { must: 450 }),
          note,
        },
        {
          figure: 'event loop held, 99th percentile',
          unit: 'ms',
          measured: spreadOf([during.p99]),
          floor: null,
          ...(must && { must: 50 }),
        },
      ];
    } finally {
      model.stop();
      kernel.stop();
    }
  });

function waited(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

interface Started {
  /** The next line that it writes. */
  line(): Promise<string>;
  ask(): Promise<string>;
  stop(): void;
}

function started(child: ChildProcess): Started {
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const line = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('a process of the bench ended early');
    return String(value);
  };
  return {
    line,
    ask() {
      child.stdin!.write('?\n');
      return line();
    },
    stop: () => void child.kill('SIGKILL'),
  };
}

const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });

/** One chat whose model says nothing but this word; what was wrong, or null. */
function chatOnce({ port, token, word }: { readonly port: string; readonly token: string; readonly word: string }): Promise<string | null> {
  return new Promise((resolve) => {
    const body = JSON.stringify({ model: 'plain', stream: true, messages: [{ role: 'user', content: `${word} ${TOKENS} ${PACE_MS}` }] });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), authorization: `Bearer ${token}` };
    const request = http.request({ port, host: '127.0.0.1', path: '/v1/chat/completions', method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('error', (error) => resolve(error.message));
      response.on('end', () =>
        resolve(response.statusCode === 200 ? problemIn(text, word) : `${response.statusCode}: ${text.slice(0, 200)}`),
      );
    });
    request.on('error', (error) => resolve(error.message));
    request.end(body);
  });
}

function problemIn(text: string, word: string): string | null {
  const events = text.split('\n\n').filter((event) => event.startsWith('data: {'));
  const said = events.map((event) => (JSON.parse(event.slice(6)) as Chunk).choices?.[0]?.delta.content ?? '').join('');
  return said === `${word} `.repeat(TOKENS) ? null : `'${said.slice(0, 100)}' instead of '${word}'`;
}

interface Chunk {
  readonly choices?: readonly { readonly delta: { readonly content?: string } }[];
}

/** The last message says which word is wanted, how often, and how many milliseconds apart. */
const MODEL = `const http = require('node:http');
const chunk = (delta, finish) => 'data: ' + JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [{ index: 0, delta, finish_reason: finish }] }) + '\\n\\n';
http.createServer((request, response) => {
  let body = '';
  request.on('data', (part) => (body += part));
  request.on('end', () => {
    const { content } = JSON.parse(body).messages.at(-1);
    const text = typeof content === 'string' ? content : content.map((part) => part.text).join('');
    const [word, tokens, pace] = text.trim().split(/\\s+/).slice(-3);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const timer = setInterval(() => {
      response.write(chunk({ content: word + ' ' }, null));
      if (++sent < Number(tokens)) return;
      clearInterval(timer);
      response.end(chunk({}, 'stop') + 'data: [DONE]\\n\\n');
    }, Number(pace));
  });
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
