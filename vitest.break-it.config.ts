import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { base } from './vitest.config.ts';

/** For scripts/break-it.ts, which breaks one thing at a time in a copy, and builds anew only where what runs from dist/ is what it broke. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    globalSetup: fileURLToPath(new URL('test/homes.ts', import.meta.url)),
    include: ['test/**/*.test.ts'],
    maxWorkers: 2,
    retry: 0,
    cache: false,
  },
});
