import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuTimed, quantile, spreadOf, type Bench, type Row } from './measure.ts';
import { inFolder, settle, skillSandbox, skillText } from './places.ts';
import { registryOf } from './skills.ts';

/** What a process that goes on running notices, and what it costs while nothing happens. */
export const watching: Bench = async ({ runs, quick }) =>
  inFolder(async (folder) => {
    const rows: Row[] = [];
    const edits = quick ? 20 : 100;
    const times = await editTimes(folder, edits);
    const figure = 'edit to visible, 100 skills, with the hint';
    rows.push({
      figure: `${figure}, p50 of ${edits}`,
      unit: 'ms',
      measured: spreadOf([quantile(times, 0.5)]),
      floor: null,
      must: 100,
      aim: 10,
    });
    rows.push({ figure: `${figure}, p99`, unit: 'ms', measured: spreadOf([quantile(times, 0.99)]), floor: null, must: 500, aim: 50 });
    for (const count of quick ? [1000] : [100, 1000, 10_000]) {
      const seconds = count < 10_000 ? 5 : 10; // a poll at least
      const idle = await idleShares(folder, count, seconds, quick ? 2 : Math.min(runs, 5));
      const judged = count === 10_000 && { must: 1, aim: 0.06 };
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

/** Ascending. */
async function editTimes(folder: string, edits: number): Promise<readonly number[]> {
  const sandbox = await skillSandbox(path.join(folder, 'edits'), 100);
  const registry = registryOf(sandbox, path.join(folder, 'data-edits'));
  const stop = new AbortController();
  const done = registry.watch(stop.signal);
  await sleep(2000);
  const times: number[] = [];
  for (let edit = 0; edit < edits; edit++) {
    const id = `skill-${edit % 100}`;
    writeFileSync(path.join(sandbox, 'skills', id, 'SKILL.md'), skillText(edit, ` Edit ${edit}.`));
    const from = performance.now();
    const isSeen = () => registry.current().skills.get(id)?.description.includes(`Edit ${edit}.`) === true;
    while (!isSeen() && performance.now() - from < 10_000) await sleep(0.5);
    times.push(performance.now() - from);
    await sleep(120 + (edit % 7) * 10);
  }
  stop.abort();
  await done;
  await registry.close();
  return times.sort((a, b) => a - b);
}

async function idleShares(folder: string, count: number, seconds: number, runs: number) {
  const sandbox = await skillSandbox(path.join(folder, 'idle'), count);
  await settle();
  const share = async () => (await cpuTimed(() => sleep(seconds * 1000))) / (seconds * 10);
  const bare: number[] = [];
  const watched: number[] = [];
  for (let run = 0; run < runs; run++) {
    bare.push(await share());
    const registry = registryOf(sandbox, path.join(folder, `data-idle-${count}`));
    const stop = new AbortController();
    const done = registry.watch(stop.signal);
    await sleep(count >= 10_000 ? 6000 : 3000); // the first scan, the bodies, the watcher
    watched.push(await share());
    stop.abort();
    await done;
    await registry.close();
  }
  return { bare, watched };
}
