import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { startOpenAiServer, type OpenAiServer } from '../fixtures/openai-server.ts';
import { costOf, packedPith, teller, type Cost } from './child.ts';
import { interleaved, spreadOf, type Bench, type Row, type Spread } from './measure.ts';
import { openPeer } from './peer.ts';
import { inFolder, put, settle, skillSandbox } from './places.ts';

const QUESTION = 'review my extension for best practices';
/** What fits one skill of `skillSandbox`. */
const WANTED = { question: 'summarise the translation of team 8123', skill: 'skill-8123' };
const IS_LATER_NODE = Number(process.versions.node.split('.')[0]) >= 24;

/** Whole processes of a packed install against `node -e 0` of the same Node, and one message against a peer where there is one. */
export const start: Bench = async ({ runs, quick }) =>
  inFolder(async (folder) => {
    const tell = await teller(folder);
    const pith = await packedPith(folder);
    const node = () => costOf(tell, ['-e', '0']);
    const rows: Row[] = [];
    /** Takes `work` in turn with `node -e 0`; it ran before, so that what is kept between runs is there. */
    const add = async (figure: string, work: () => Promise<Cost>, bars: Partial<Row> = {}, peak: Partial<Row> | null = null) => {
      for (let round = 0; round < 2; round++) await work();
      const found = await against(runs, node, work);
      rows.push({ figure: `${figure} ÷ node -e 0`, unit: 'ms', ...found.wall, bounds: 'ratio', ...bars });
      if (!Number.isNaN(found.cpu.measured.median)) rows.push({ figure: `${figure}, CPU`, unit: 'ms', ...found.cpu });
      if (peak) rows.push({ figure: `${figure}, peak memory`, unit: 'MB', ...found.peak, ...peak });
    };

    await add('pith --version', () => costOf(tell, [pith, '--version']), { must: 1.5 });
    for (const count of quick ? [100, 1000] : [100, 1000, 10_000]) {
      const env = { PITH_TRUST: '1', PITH_SANDBOX: await skillSandbox(folder, count) };
      await settle();
      const figure = `pith skills list, ${count.toLocaleString('en')} skills`;
      await add(figure, () => costOf(tell, [pith, 'skills', 'list'], env), LIST_BARS.get(count), count === 1000 ? { must: 80 } : null);
    }

    const env = { PITH_TRUST: '1', PITH_SANDBOX: path.join(folder, 'chat') };
    await put(path.join(folder, 'chat', 'pith.yaml'), '');
    await add(
      'one message, offline model, existing store',
      () => costOf(tell, [pith, 'chat', '--agent', 'orchestrator', '-p', QUESTION], env),
      { must: IS_LATER_NODE ? 9 : 11, aim: IS_LATER_NODE ? 7 : 9, note: 'three model steps, two tool calls' },
      { must: 90, aim: 75 },
    );
    if (existsSync(SCRIPT))
      await add('prompt drawn in a terminal', () => promptDrawn(pith, { ...env, PITH_MODEL: 'offline/librarian' }), { must: 8, aim: 6 });

    const server = await startOpenAiServer();
    try {
      const ofServer = { PITH_TRUST: '1', OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'none', PITH_MODEL: 'openai/test-model' };
      const asked = (sandbox: string, question: string) => async () => {
        server.script({ text: 'Done.' });
        return costOf(tell, [pith, '-p', question], { ...ofServer, PITH_SANDBOX: sandbox });
      };
      const one = asked(env.PITH_SANDBOX, 'say that it is done');
      const peer = await openPeer(folder, server.url);
      if (peer === null) await add('one message through a server on loopback', one, { note: 'no peer: PITH_BENCH_PEER is not set' });
      else rows.push(await besidePeer(runs, one, () => (server.script({ text: 'Done.' }), costOf(tell, peer.argv, peer.env))));
      if (!quick) {
        const sandbox = path.join(folder, 'sandbox-10000');
        await costOf(tell, [pith, 'skills', 'search', 'invoice'], { PITH_SANDBOX: sandbox, PITH_TRUST: '1' }); // counts all of them
        const many = asked(sandbox, WANTED.question);
        const figure = 'first message of a process at 10,000 skills, counted before';
        await add(figure, () => withSkill(server, many), { must: 20, aim: 15 });
      }
    } finally {
      await server.close();
    }
    return rows;
  });

/** By number of skills. */
const LIST_BARS = new Map<number, Partial<Row>>([
  [1000, { must: 9, aim: 6 }],
  [10_000, { must: 20, aim: 14 }],
]);

async function besidePeer(runs: number, ours: () => Promise<Cost>, theirs: () => Promise<Cost>): Promise<Row> {
  for (const program of [ours, theirs, ours, theirs]) await program();
  const found = await against(runs, theirs, ours);
  return { figure: 'one message through a server on loopback ÷ a peer', unit: 'ms', ...found.wall, bounds: 'ratio', must: 0.35, aim: 0.25 };
}

/** Rejects where the model was not sent the skill that fits. */
async function withSkill(server: OpenAiServer, message: () => Promise<Cost>): Promise<Cost> {
  const cost = await message();
  if (!JSON.stringify(server.requests.at(-1)?.body).includes(WANTED.skill)) throw new Error(`the request has no ${WANTED.skill}`);
  return cost;
}

const SCRIPT = '/usr/bin/script';
const PROMPT = '›';
/** It has to end however a chat behaves. */
const DRAWN_MS = 20_000;

/** Until the chat shows where to type. Memory and CPU are not told: the chat is ended. */
function promptDrawn(pith: string, env: Readonly<Record<string, string>>): Promise<Cost> {
  return new Promise((resolve, reject) => {
    const from = performance.now();
    const child = spawn(SCRIPT, ['-qec', `"${process.execPath}" "${pith}" chat`, '/dev/null'], {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PITH_TRUST: '1', TERM: 'xterm', ...env },
    });
    let shown = '';
    let wallMs = NaN;
    const late = setTimeout(() => child.kill('SIGKILL'), DRAWN_MS);
    child.stdout.on('data', (bytes: Buffer) => {
      shown += stripVTControlCharacters(bytes.toString());
      if (!Number.isNaN(wallMs) || !shown.includes(PROMPT)) return;
      wallMs = performance.now() - from;
      child.stdin.end('\u0004');
    });
    child.on('close', () => {
      clearTimeout(late);
      if (Number.isNaN(wallMs)) reject(new Error(`no prompt was drawn: ${shown}`));
      else resolve({ wallMs, cpuMs: NaN, peakMb: NaN });
    });
  });
}

interface Compared {
  readonly measured: Spread;
  readonly floor: Spread;
}

async function against(
  runs: number,
  floor: () => Promise<Cost>,
  measured: () => Promise<Cost>,
): Promise<Readonly<Record<'wall' | 'cpu' | 'peak', Compared>>> {
  const costs: { floor: Cost[]; measured: Cost[] } = { floor: [], measured: [] };
  await interleaved(runs, {
    floor: async () => costs.floor.push(await floor()),
    measured: async () => costs.measured.push(await measured()),
  });
  const of = (key: keyof Cost): Compared => ({
    floor: spreadOf(costs.floor.slice(1).map((cost) => cost[key])),
    measured: spreadOf(costs.measured.slice(1).map((cost) => cost[key])),
  });
  return { wall: of('wallMs'), cpu: of('cpuMs'), peak: of('peakMb') };
}
