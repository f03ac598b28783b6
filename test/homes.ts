import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** One folder for the homes of all test processes: a worker is killed, and removes nothing. */
export function setup(): () => void {
  const homes = mkdtempSync(path.join(os.tmpdir(), 'pith-test-homes-'));
  process.env['PITH_TEST_HOMES'] = homes;
  return () => rmSync(homes, { recursive: true, force: true });
}
