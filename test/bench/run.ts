/** `npm run bench [-- --quick] [name…]`: every figure beside its floor, measured in the same run. */
import os from 'node:os';
import { durableEvents } from './events.ts';
import { codeIndexing } from './kernel-boot.ts';
import { loop } from './loop.ts';
import type { Bench } from './measure.ts';
import { processTier } from './process-tier.ts';
import { skillsInProcess } from './skills.ts';
import { start } from './start.ts';
import { streaming } from './streaming.ts';
import { heading, linesOf } from './table.ts';
import { triggers } from './triggers.ts';
import { watching } from './watching.ts';

const BENCHES: Readonly<Record<string, Bench>> = {
  start,
  skills: skillsInProcess,
  triggers,
  watching,
  kernel: codeIndexing,
  loop,
  events: durableEvents,
  streaming,
  process: processTier,
};

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
  process.stdout.write(`Node ${process.versions.node}, ${os.cpus().length} cores, medians of ${effort.runs} or more interleaved runs\n\n`);
  process.stdout.write(heading());
  for (const name of chosen) process.stdout.write(linesOf(await BENCHES[name]!(effort)));
  process.exit(0);
}
