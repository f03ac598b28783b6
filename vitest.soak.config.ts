import { defineConfig } from 'vitest/config';
import { base, globalSetup } from './vitest.config.ts';

/** The long forms of the reliability tests: every cell of the fault matrix, and 200 points of `kill -9` (`PITH_TEST_ROUNDS` for more). */
export default defineConfig({
  ...base,
  test: { ...base.test, globalSetup, include: ['test/reliability/**/*.test.ts'], env: { PITH_TEST_LONG: '1' }, fileParallelism: false },
});
