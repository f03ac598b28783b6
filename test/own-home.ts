import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, vi } from 'vitest';

/** A home folder for each process of the tests: what is trusted and marked there stays out of the home folder of whoever runs them. */
const NAME = 'pith-test-home-';
if (!path.basename(process.env['HOME'] ?? '').startsWith(NAME)) {
  const home = mkdtempSync(path.join(process.env['PITH_TEST_HOMES'] ?? os.tmpdir(), NAME));
  process.env['HOME'] = home;
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
}

/** The next file in this process is given another folder as its home. */
afterAll(() => void vi.unstubAllEnvs());
