/** `npm run bench [-- --quick] [name…]`: every figure beside its floor, measured in the same run. */
import os from 'node:os';
import { codeIndexing } from './kernel-boot.ts';
import { loop } from './loop.ts';
import type { Bench, Row } from './measure.ts';
import { skillsInProcess } from './skills.ts';
import { start } from './start.ts';
import { streaming } from './streaming.ts';
import { markdown } from './table.ts';
import { watching } from './watching.ts';

const BENCHES: Readonly<Record<string, Bench>> = { start, skills: skillsInProcess, watching, kernel: codeIndexing, loop, streaming };

const words = process.argv.slice(2);
const quick = words.includes('--quick');
const names = words.filter((word) => !word.startsWith('-'));
const unknown = names.find((name) => !Object.hasOwn(BENCHES, name));
if (unknown === undefined) await runAll(names.length > 0 ? names : Object.keys(BENCHES));
else {
  process.stderr.write(`bench: there is no '${unknown}'; there are ${Object.keys(BENCHES).join(', ')}\n`);
  process.exitCode = 2;
}

async function runAll(chosen: readonly string[]): Promise<void> {
  const effort = { runs: quick ? 2 : 7, quick };
  const rows: Row[] = [];
  for (const name of chosen) {
    process.stderr.write(`bench: ${name} …\n`);
    rows.push(...(await BENCHES[name]!(effort)));
  }
  process.stdout.write(`Node ${process.versions.node}, ${os.cpus().length} cores, medians of ${effort.runs} interleaved runs\n\n`);
  process.stdout.write(`${markdown(rows)}\n\nNot measured yet, because they come with the next issue: durable events, the process tier.\n`);
  process.exit(0);
}
