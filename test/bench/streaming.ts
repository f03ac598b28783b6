import { spawn } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import { createKernel } from '../../core/compose/index.ts';
import { cpuTimed, interleaved, liveBytes, scaled, spreadOf, type Bench, type Row, type Spread } from './measure.ts';
import { inFolder, put } from './places.ts';

interface Stream {
  readonly tokens: number;
  /** Milliseconds between two tokens; 0: as fast as they are read. */
  readonly pace: number;
}

/** Streams one answer and resolves when it has ended. */
type Client = (stream: Stream) => Promise<void>;

/** CPU of this process for a token that arrives over real HTTP; the server is another process. */
export const streaming: Bench = async ({ runs, quick }) =>
  inFolder(async (folder) => {
    const server = await startServer(folder);
    const sandbox = path.join(folder, 'sandbox');
    await put(path.join(sandbox, 'pith.yaml'), '');
    await put(path.join(sandbox, 'agents/plain/manifest.yaml'), 'id: plain\nversion: 1.0.0\nagent: {}\n');
    const kernel = await createKernel({
      accepts: true,
      sandbox,
      env: { OPENAI_BASE_URL: server.address, PITH_MODEL: 'openai/bench' },
      home: null,
    });
    let turns = 0;
    const ours: Client = async ({ tokens, pace }) => {
      let seen = 0;
      for await (const event of kernel.agents.run({
        agent: 'plain',
        threadId: `t${turns++}`,
        channelId: 'bench',
        userId: 'bench',
        input: `${tokens} ${pace}`,
      })) {
        if (event.type === 'text-delta') seen++;
        if (event.type === 'turn-end' && (event.reason !== 'done' || seen < tokens))
          throw new Error(`${seen} tokens, ${JSON.stringify(event).slice(0, 300)}`);
      }
    };
    const bare = bareClient(server.address);
    await ours({ tokens: 1000, pace: 0 });
    const many = quick ? 100 : 1000;
    const memory = { floor: await memoryOf(bare, many), measured: await memoryOf(ours, many) };
    const rows: Row[] = [
      {
        figure: `memory of a stream, ${many.toLocaleString('en')} streams`,
        unit: 'KB',
        ...memory,
        ...(many === 1000 && { must: 450 }),
        note: 'resident',
      },
    ];
    const [short, long] = quick ? [200, 2000] : [500, 5500];
    const one = await interleaved(runs, {
      floor: () => perToken(bare, 1, short, long, 0),
      measured: () => perToken(ours, 1, short, long, 0),
    });
    rows.push({ figure: 'CPU of a streamed token over HTTP, one stream', unit: 'µs', ...one, boundsAt: 1.9, must: 10, aim: 4 });
    for (const count of quick ? [100] : [10, 100, 1000]) {
      const judged = count === 1000;
      const pace = judged ? 200 : 50; // with 1,000 the server needs the time
      const paced = await interleaved(quick ? 2 : Math.min(5, runs), {
        floor: () => perToken(bare, count, 5, 25, pace),
        measured: () => perToken(ours, count, 5, 25, pace),
      });
      rows.push({
        figure: `CPU of a streamed token over HTTP, ${count.toLocaleString('en')} paced streams`,
        unit: 'µs',
        ...paced,
        ...(judged && { boundsAt: 17, must: 150, aim: 40 }),
      });
    }
    await kernel.stop();
    server.stop();
    return rows;
  });

/** Microseconds of a further token: what a stream costs to begin and end is subtracted. */
async function perToken(client: Client, count: number, short: number, long: number, pace: number): Promise<number> {
  const run = (tokens: number) => cpuTimed(() => Promise.all(Array.from({ length: count }, () => client({ tokens, pace }))));
  const begin = await run(short);
  return (((await run(long)) - begin) * 1000) / (count * (long - short));
}

async function memoryOf(client: Client, count: number): Promise<Spread> {
  liveBytes(); // collects
  const before = process.memoryUsage.rss();
  const all = Promise.all(Array.from({ length: count }, () => client({ tokens: 12, pace: 400 })));
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const used = process.memoryUsage.rss() - before;
  await all;
  return scaled(spreadOf([used]), 1 / 1024 / count);
}

/** Node's own client and a parser of a few lines. */
function bareClient(address: string): Client {
  const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
  return ({ tokens, pace }) =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify({ messages: [{ role: 'user', content: `${tokens} ${pace}` }], stream: true });
      const request = http.request(
        `${address}/chat/completions`,
        { method: 'POST', agent, headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } },
        (response) => {
          let rest = '';
          let seen = 0;
          response.setEncoding('utf8');
          response.on('data', (text: string) => {
            const lines = (rest + text).split('\n\n');
            rest = lines.pop() ?? '';
            for (const line of lines)
              if (
                line !== 'data: [DONE]' &&
                (JSON.parse(line.slice(6)) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content
              )
                seen++;
          });
          response.on('end', () => (seen >= tokens ? resolve() : reject(new Error(`${seen} of ${tokens} tokens`))));
        },
      );
      request.on('error', reject);
      request.end(body);
    });
}

async function startServer(folder: string): Promise<{ readonly address: string; stop(): void }> {
  const file = path.join(folder, 'server.cjs');
  await put(file, SERVER);
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<string>((resolve) => child.stdout.once('data', (bytes: Buffer) => resolve(bytes.toString().trim())));
  return { address: `http://127.0.0.1:${port}/v1`, stop: () => void child.kill() };
}

/** The last message says how many tokens are wanted and how many milliseconds apart. */
const SERVER = `const http = require('node:http');
const chunk = (delta, finish) => 'data: ' + JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [{ index: 0, delta, finish_reason: finish }] }) + '\\n\\n';
const token = chunk({ content: 'word ' }, null);
http.createServer((request, response) => {
  let body = '';
  request.on('data', (part) => (body += part));
  request.on('end', () => {
    const { content } = JSON.parse(body).messages.at(-1);
    const text = typeof content === 'string' ? content : content.map((part) => part.text).join('');
    const [tokens, pace] = text.trim().split(/\\s+/).slice(-2).map(Number);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const end = () => response.end(chunk({}, 'stop') + 'data: [DONE]\\n\\n');
    const fast = () => { while (sent < tokens) { sent++; if (!response.write(token)) return response.once('drain', fast); } end(); };
    if (pace === 0) return fast();
    const timer = setInterval(() => { response.write(token); if (++sent >= tokens) { clearInterval(timer); end(); } }, pace);
  });
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
