import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { filesApart } from './test/apart.ts';
import { LongestFirst } from './test/order.ts';
import { folderInMemory } from './test/homes.ts';
import { SlowestFiles } from './test/slowest-files.ts';

// On Node 20 it alone doubles the time that a process takes to start, and no test meets a certificate.
delete process.env['NODE_EXTRA_CA_CERTS'];

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What holds for every test. */
export const base = {
  // By alias and not by the `source` condition of package.json: packages on npm have a condition of that name too.
  resolve: {
    alias: [
      { find: /^pith$/, replacement: source('core/contract/index.ts') },
      { find: /^pith\/testing$/, replacement: source('core/testing/index.ts') },
      { find: /^pith\/embed$/, replacement: source('core/embed/index.ts') },
      { find: /^@pith\/([\w-]+)$/, replacement: source('packages/$1/index.ts') },
      { find: /^pith\/([a-z0-9_]+)$/, replacement: `${source('sandbox/extensions')}/$1/contract.ts` },
    ],
  },
  test: {
    // What was built, and bundles, are imported by Node itself, as outside of tests.
    server: { deps: { external: [/\/dist\/[^/]+\/(?:ext|chunks|library)\//, /\/\.cache\/bundles\//] } },
    setupFiles: ['reflect-metadata', source('test/own-home.ts')],
    pool: 'forks' as const,
    // What ends a test that waits for ever, on the slowest machine. What a statement allows, its test measures itself.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // K5: test kernels give extensions plain data only, as if each were in another process. The journeys run the command without this.
    env: { PITH_TEST_WIRE: '1' },
  },
};

/** The command and the processes of extensions run what was built: of the sources as they are now. */
export const globalSetup = ['scripts/build.mjs', source('test/homes.ts')];

/** What holds for texts: `npm run rules`, beside lint. */
export const RULES = 'test/architecture/**/*.test.ts';

/** Tests wait, for processes and for the disk. */
const WORKERS = availableParallelism() + 2;
const apart = filesApart(source('test'));

export default defineConfig({
  test: {
    globalSetup,
    reporters: ['default', new SlowestFiles()],
    sequence: { sequencer: LongestFirst },
    // Without an order of groups: in one, workers that have nothing left apart begin at once with the others.
    projects: [
      { ...base, test: { ...base.test, name: 'apart', include: [...apart], maxWorkers: WORKERS } },
      {
        ...base,
        test: {
          ...base.test,
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...apart, RULES],
          isolate: false,
          maxWorkers: WORKERS,
          env: { ...base.test.env, TMPDIR: folderInMemory() },
        },
      },
    ],
  },
});
