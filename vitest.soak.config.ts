import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { base, globalSetup } from './vitest.config.ts';

/** Tests that have a long form ask for it by this name. */
const LONG = 'PITH_TEST_LONG';
const tests = readdirSync('test', { recursive: true, encoding: 'utf8' }).map((name) => `test/${name}`);
const long = tests.filter((file) => file.endsWith('.test.ts') && readFileSync(file, 'utf8').includes(LONG));

/** The long forms: every cell of the fault matrix, every way out of a folder, 200 points of `kill -9` (`PITH_TEST_ROUNDS` for more). */
export default defineConfig({
  ...base,
  test: { ...base.test, globalSetup, include: long, env: { [LONG]: '1' }, fileParallelism: false },
});
