/**
 * `npm run bench [-- --quick] [--save] [group…]`: every figure beside its floor, measured in the same run. `--save` puts the tables of these
 * groups into docs/benchmarks.md.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { repository } from './child.ts';
import { embed } from './embed.ts';
import { durableEvents } from './events.ts';
import { jobs } from './jobs.ts';
import { codeIndexing } from './kernel-boot.ts';
import { lists } from './lists.ts';
import { load } from './load.ts';
import { loop } from './loop.ts';
import type { Bench } from './measure.ts';
import { processTier } from './process-tier.ts';
import { withTable } from './saved-tables.ts';
import { skillsInProcess } from './skills.ts';
import { start } from './start.ts';
import { streaming } from './streaming.ts';
import { heading, linesOf } from './table.ts';
import { triggers } from './triggers.ts';
import { watching } from './watching.ts';

const BENCHES: Readonly<Record<string, Bench>> = {
  start,
  embed,
  skills: skillsInProcess,
  triggers,
  watching,
  kernel: codeIndexing,
  loop,
  events: durableEvents,
  jobs,
  streaming,
  load,
  lists,
  process: processTier,
};

const PAGE = path.join(repository, 'docs', 'benchmarks.md');

const words = process.argv.slice(2);
const [quick, save] = ['--quick', '--save'].map((option) => words.includes(option));
const names = words.filter((word) => !word.startsWith('-'));
const unknown = names.find((name) => !Object.hasOwn(BENCHES, name));
if (unknown !== undefined) fail(`there is no '${unknown}'; there are ${Object.keys(BENCHES).join(', ')}`);
else if (quick && save) fail('figures of a quick run are not for keeping; leave out --quick or --save');
else await runAll(names.length > 0 ? names : Object.keys(BENCHES));

async function runAll(chosen: readonly string[]): Promise<void> {
  const effort = { runs: quick ? 2 : 7, quick: quick === true };
  const about = `Node ${process.versions.node}, ${os.cpus().length} cores, medians of ${quick ? 2 : 5} or more interleaved runs`;
  process.stdout.write(`${about}\n\n${heading()}`);
  for (const name of chosen) {
    const found = linesOf(await BENCHES[name]!(effort));
    process.stdout.write(found);
    if (save) {
      const taken = `${new Date().toISOString().slice(0, 10)}, ${about}.`;
      writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), name, `${taken}\n\n${heading()}${found}`));
    }
  }
  process.stdout.write('\n');
  process.exit(0);
}

function fail(why: string): void {
  process.stderr.write(`bench: ${why}\n`);
  process.exitCode = 2;
}
