import path from 'node:path';
import { costOf, pith, teller, type Cost } from './child.ts';
import { interleaved, spreadOf, type Bench, type Row, type Spread } from './measure.ts';
import { inFolder, put, settle, skillSandbox } from './places.ts';

const QUESTION = 'review my extension for best practices';

/** Whole processes, against `node -e 0` and against the cheapest program that reads a valid index. */
export const start: Bench = async ({ runs, quick }) =>
  inFolder(async (folder) => {
    const tell = await teller(folder);
    const node = () => costOf(tell, ['-e', '0']);
    const rows: Row[] = [];
    const version = await against(runs * 2, node, () => costOf(tell, [pith, '--version']));
    rows.push({ figure: 'pith --version ÷ node -e 0', unit: 'ms', ...version.wall, bounds: 'ratio', must: 1.5 });

    for (const count of quick ? [100, 1000] : [100, 1000, 10_000]) {
      const sandbox = await skillSandbox(folder, count);
      const floor = path.join(folder, 'floor.cjs');
      await put(floor, FLOOR);
      await settle();
      const env = { PITH_SANDBOX: sandbox };
      const list = () => costOf(tell, [pith, 'skills', 'list'], env);
      const bare = () => costOf(tell, [floor, sandbox]);
      for (const program of [list, list, bare]) await program(); // makes the indexes
      const found = await against(runs, bare, list);
      const figure = `pith skills list, ${count.toLocaleString('en')} skills`;
      rows.push({ figure, unit: 'ms', ...found.wall, ...LIST_BARS.get(count) });
      rows.push({ figure: `${figure}, CPU`, unit: 'ms', ...found.cpu });
      if (count === 1000) rows.push({ figure: `${figure}, peak memory`, unit: 'MB', ...found.peak, must: 80 });
    }

    const env = { PITH_SANDBOX: path.join(folder, 'chat') };
    await put(path.join(folder, 'chat', 'pith.yaml'), '');
    const chat = () => costOf(tell, [pith, 'chat', '--agent', 'orchestrator', '-p', QUESTION], env);
    for (let round = 0; round < 3; round++) await chat();
    const turn = await against(runs, node, chat);
    const figure = 'shipped extensions and one turn, offline model, existing store ÷ node -e 0';
    rows.push({ figure, unit: 'ms', ...turn.wall, bounds: 'ratio', must: 10, aim: 5, note: 'three model steps, two tool calls' });
    rows.push({ figure: `${figure}, CPU`, unit: 'ms', ...turn.cpu });
    return rows;
  });

/** Milliseconds by number of skills. */
const LIST_BARS = new Map([
  [1000, { boundsAt: 34, must: 200, aim: 150 }],
  [10_000, { boundsAt: 96, must: 600, aim: 400 }],
]);

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

/** Lists skills from rows that it wrote before, each verified by the stamps of its file. */
const FLOOR = `const fs = require('node:fs'), path = require('node:path');
const root = path.join(process.argv[2], 'skills'), index = path.join(process.argv[2], 'floor-index');
const stampOf = (file) => { const s = fs.statSync(file, { bigint: true }); return [String(s.mtimeNs), String(s.ctimeNs), String(s.size), String(s.ino)]; };
if (!fs.existsSync(index)) {
  const rows = fs.readdirSync(root).map((id) => { const file = path.join(root, id, 'SKILL.md');
    return [id, file, ...stampOf(file), /description: (.*)/.exec(fs.readFileSync(file, 'utf8'))[1]]; });
  fs.writeFileSync(index, JSON.stringify(rows));
}
const lines = [];
for (const [id, file, ...rest] of JSON.parse(fs.readFileSync(index, 'utf8'))) {
  const now = stampOf(file);
  if (now.some((part, at) => part !== rest[at])) throw new Error(file + ' changed');
  lines.push(id.padEnd(24) + rest[4].slice(0, 80));
}
process.stdout.write(lines.join('\\n') + '\\n');`;
