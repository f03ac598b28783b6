import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  // By alias and not by the `source` condition of package.json: packages on npm have a condition of that name too.
  resolve: {
    alias: [
      { find: /^pith$/, replacement: source('core/contract/index.ts') },
      { find: /^pith\/testing$/, replacement: source('core/testing/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    // What the processes of extensions run, from the sources as they are now.
    globalSetup: ['scripts/extension-process.mjs'],
    setupFiles: ['reflect-metadata'],
    pool: 'forks',
    // Many files wait for processes, so that two side by side pay on two cores too.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
