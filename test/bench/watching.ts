import { readFileSync, watch, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuTimed, quantile, spreadOf, type Bench, type Row } from './measure.ts';
import { inFolder, settle, skillSandbox, skillText } from './places.ts';
import { registryOf } from './skills.ts';

/** Few skills are polled more often while they are measured, and reckoned for this. */
const POLL_SECONDS = 5;

/** What a process that goes on running notices, and what it costs while nothing happens. */
export const watching: Bench = async ({ runs, quick }) =>
  inFolder(async (folder) => {
    const rows: Row[] = [];
    const edits = quick ? 20 : 60;
    for (const count of quick ? [100] : [100, 1000, 10_000]) {
      const { seen, bare } = await editTimes(folder, count, edits);
      const figure = `edit to visible, ${count.toLocaleString('en')} skills, with the hint`;
      const row = (share: number) => ({
        unit: 'ms' as const,
        measured: spreadOf([quantile(seen, share)]),
        floor: spreadOf([quantile(bare, share)]),
      });
      const judged = count === 1000;
      rows.push({ figure: `${figure}, p50 of ${edits}`, ...row(0.5), ...(judged && { must: 100, aim: 50 }) });
      rows.push({ figure: `${figure}, p99`, ...row(0.99), ...(judged && { must: 500, aim: 100 }) });
    }
    for (const count of quick ? [1000] : [100, 1000, 10_000]) {
      const idle = await idleShares(folder, count, quick ? 2 : Math.min(runs, 5));
      const judged = count === 10_000 && { must: 1.5 };
      rows.push({
        figure: `idle CPU, ${count.toLocaleString('en')} skills watched and polled`,
        unit: '%',
        measured: spreadOf(idle.watched),
        floor: spreadOf(idle.bare),
        ...judged,
      });
    }
    return rows;
  });

/** Ascending. The floor is a watch of one folder that reads its file. */
async function editTimes(folder: string, count: number, edits: number): Promise<Readonly<Record<'seen' | 'bare', readonly number[]>>> {
  const sandbox = await skillSandbox(path.join(folder, 'edits'), count);
  const registry = registryOf(sandbox, path.join(folder, `data-edits-${count}`));
  const stop = new AbortController();
  const done = registry.watch(stop.signal);
  await sleep(count >= 10_000 ? 4000 : 2000);
  const [seen, bare]: [number[], number[]] = [[], []];
  for (let edit = 0; edit < edits; edit++) {
    const id = `skill-${edit % 100}`;
    const file = path.join(sandbox, 'skills', id, 'SKILL.md');
    const mark = `Edit ${edit}.`;
    let read = '';
    const watcher = watch(path.dirname(file), () => (read = readFileSync(file, 'utf8')));
    await sleep((count >= 10_000 ? 1000 : 120) + (edit % 7) * 10); // longer than the watch rests after the edit before
    writeFileSync(file, skillText(edit % 100, ` ${mark}`));
    const from = performance.now();
    const isSeen = () => registry.current().skills.get(id)?.description.includes(mark) === true;
    let told = 0;
    while (!isSeen() && performance.now() - from < 10_000) {
      if (told === 0 && read.includes(mark)) told = performance.now() - from;
      await sleep(0.5);
    }
    seen.push(performance.now() - from);
    bare.push(told === 0 ? performance.now() - from : told);
    watcher.close();
  }
  stop.abort();
  await done;
  await registry.close();
  return { seen: seen.sort((a, b) => a - b), bare: bare.sort((a, b) => a - b) };
}

async function idleShares(folder: string, count: number, runs: number) {
  const sandbox = await skillSandbox(path.join(folder, 'idle'), count);
  await settle();
  const many = count >= 10_000; // a poll rests by what a look takes
  const [pollSeconds, seconds] = many ? [POLL_SECONDS, 3 * POLL_SECONDS] : [1, 2];
  const share = async () => (await cpuTimed(() => sleep(seconds * 1000))) / (seconds * 10);
  const bare: number[] = [];
  const watched: number[] = [];
  for (let run = 0; run < runs; run++) {
    const idle = await share();
    const registry = registryOf(sandbox, path.join(folder, `data-idle-${count}`), { poll_seconds: pollSeconds });
    const stop = new AbortController();
    const done = registry.watch(stop.signal);
    await sleep(many ? 3500 : 1500); // the first look, and the watcher begins
    bare.push(idle);
    watched.push(idle + Math.max(0, (await share()) - idle) * (pollSeconds / POLL_SECONDS));
    stop.abort();
    await done;
    await registry.close();
  }
  return { bare, watched };
}
