import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Case } from './case.ts';
import { inTemporaryFolder, NotHere, writeCase } from './fixture.ts';
import type { Reading } from './listing.ts';
import { checkedRun, notRun, type Result } from './result.ts';
import type { LoaderRun } from './run-loader.ts';

/** The file in the root that appears when a loader runs something of a skill; cases name it. */
const MARK = 'it-ran';

export interface LoaderCheck extends Reading {
  /** Lists the skills in `skills/` below the root with the loader: `runLoader`, or one in this process. */
  run(root: string): Promise<LoaderRun>;
  readonly cases: readonly Case[];
  /** How many cases run at a time. */
  readonly jobs: number;
}

/** Runs a loader on each case, in its own root below one temporary folder, and checks its list. Results are in the order of the cases. */
export function checkLoader(check: LoaderCheck): Promise<readonly Result[]> {
  return inTemporaryFolder(async (folder) => {
    const results: Result[] = [];
    const waiting = [...check.cases.entries()];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [at, one] = next;
        results[at] = await resultOf(one, path.join(folder, one.id), check);
      }
    };
    const workers = await Promise.allSettled(Array.from({ length: Math.max(1, Math.min(check.jobs, check.cases.length)) }, work));
    for (const worker of workers) if (worker.status === 'rejected') throw worker.reason;
    return results;
  });
}

async function resultOf(one: Case, root: string, check: LoaderCheck): Promise<Result> {
  await mkdir(root);
  try {
    await writeCase(one, root);
  } catch (error) {
    if (error instanceof NotHere) return notRun(one, error.message);
    throw error;
  }
  const run = await check.run(root);
  return checkedRun(one, run, { root, hasRun: existsSync(path.join(root, MARK)) }, check);
}
