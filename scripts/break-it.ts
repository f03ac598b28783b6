// Breaks the code in twenty places, one for each kind of fault, and runs for each the tests that must fail then: who moves or merges tests
// sees that none of these goes unnoticed. It works in copies of this folder. `npm run break-it -- NAME…` breaks only what is named;
// `--one-by-one` takes one at a time.
import { parseArgs } from 'node:util';
import { didYouMean } from '@pith/plain-text';
import { type Copy, makeCopy } from './break-it/copy.ts';
import { type Fault, FAULTS } from './break-it/faults.ts';
import { runTests, type TestResult } from './break-it/run-tests.ts';

const TABLE = 'scripts/break-it/faults.ts';
const root = process.env['PITH_REPOSITORY'] ?? process.cwd();
const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort(new Error(`ended by ${signal}`)));

const copies: Copy[] = [];
try {
  const problems = await main();
  for (const problem of problems) process.stderr.write(`pith: ${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`pith: ${(error as Error).message}\n`);
  process.exitCode = ending.signal.aborted ? 130 : 1;
} finally {
  await Promise.all(copies.map((copy) => copy.remove()));
}

async function main(): Promise<readonly string[]> {
  const { values, positionals: names } = parseArgs({ allowPositionals: true, options: { 'one-by-one': { type: 'boolean' } } });
  const unknown = names.filter((name) => !FAULTS.some((fault) => fault.name === name));
  if (unknown.length > 0) return unknown.map(unknownName);
  const faults = FAULTS.filter(({ name }) => names.length === 0 || names.includes(name));

  const first = await newCopy();
  const misplaced = (await Promise.all(faults.map((fault) => misplacedIn(first, fault)))).flat();
  if (misplaced.length > 0) return misplaced;
  const results = await runTests(first, faults);
  const unfit = faults.flatMap((fault) => whyUnfit(fault, results));
  if (unfit.length > 0) return unfit;

  const left = [...faults];
  const problems: string[] = [];
  const breakNext = async (copy: Copy): Promise<void> => {
    for (let fault = left.shift(); fault !== undefined; fault = left.shift()) problems.push(...(await unnoticedIn(copy, fault)));
  };
  const isAlone = values['one-by-one'] === true || faults.length === 1;
  await Promise.all([breakNext(first), ...(isAlone ? [] : [newCopy().then(breakNext)])]);
  process.stdout.write(`${faults.length - problems.length} of ${faults.length} faults were noticed\n`);
  return problems;
}

function unknownName(name: string): string {
  const names = FAULTS.map((fault) => fault.name);
  return `there is no fault '${name}'${didYouMean(name, names)}; name some of ${names.join(', ')}`;
}

async function newCopy(): Promise<Copy> {
  const copy = await makeCopy(root, ending.signal);
  copies.push(copy);
  return copy;
}

/** What the table names and the code has no more. */
async function misplacedIn(copy: Copy, { name, tests, ...fault }: Fault): Promise<readonly string[]> {
  const gone = tests.filter((file) => !copy.has(file));
  const places = await Promise.all(placesOf(fault).map(async (place) => ({ ...place, times: await copy.count(place) })));
  return [
    ...gone.map((file) => `the fault '${name}' names ${file}, which is gone; write into ${TABLE} where its test is now`),
    ...places
      .filter(({ times }) => times !== 1)
      .map(
        ({ file, find, times }) =>
          `the fault '${name}' breaks a text that ${file} holds ${times} times, not once: ${find}; write into ${TABLE} what stands there now`,
      ),
  ];
}

function placesOf({ also, ...place }: Pick<Fault, 'file' | 'find' | 'replace' | 'also'>) {
  return also === undefined ? [place] : [place, also];
}

/** Why its tests would say nothing of a fault. */
function whyUnfit({ name, tests, notices }: Fault, results: readonly TestResult[]): readonly string[] {
  const own = results.filter(({ file, title }) => tests.includes(file) && title.includes(notices));
  if (own.length === 0)
    return [`no test of ${tests.join(', ')} ran as '${notices}'; write into ${TABLE} which one notices the fault '${name}'`];
  return own
    .filter(({ passed }) => !passed)
    .map(({ file, title }) => `'${title}' fails without the fault '${name}', too; see: npx vitest run ${file}`);
}

async function unnoticedIn(copy: Copy, fault: Fault): Promise<readonly string[]> {
  const { name, kind, tests, notices, built = false } = fault;
  let noticed: TestResult | undefined;
  try {
    await copy.whileBroken(placesOf(fault), built, async () => {
      noticed = (await runTests(copy, [fault])).find(({ passed }) => !passed);
    });
  } catch (error) {
    ending.signal.throwIfAborted();
    return [`the fault '${name}' says nothing: ${(error as Error).message}; write another into ${TABLE}`];
  }
  if (noticed === undefined)
    return [
      `nobody noticed the fault '${name}', ${kind}: '${notices}' of ${tests.join(', ')} did not fail; let a test fail for it, and name that in ${TABLE}`,
    ];
  process.stdout.write(`${name}: ${kind}; noticed by ${noticed.file}: ${noticed.title}\n`);
  return [];
}
