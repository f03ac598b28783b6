// Runs the built command as people do, in an empty sandbox, and keeps the code that V8 made of it in dist/code.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const { codeCacheFile } = createRequire(import.meta.url)('../bin/code-cache.js');

/** A command line of each kind, as bin/pith tells them apart. */
const KINDS = {
  list: ['skills', 'list'],
  chat: ['chat', '--agent', 'orchestrator', '-p', 'review my extension for best practices'],
};

export async function makeCodeCache(root) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pith-code-'));
  const run = promisify(execFile);
  try {
    await writeFile(path.join(folder, 'pith.yaml'), '');
    for (const [name, words] of Object.entries(KINDS)) {
      const file = codeCacheFile(path.join(root, 'dist'), name);
      await mkdir(path.dirname(file), { recursive: true });
      const env = { PATH: process.env.PATH, HOME: folder, PITH_SANDBOX: folder, PITH_TRUST: '1' };
      const pith = (options, more) =>
        run(process.execPath, [...options, path.join(root, 'bin/pith'), ...words], { cwd: folder, env: { ...env, ...more } });
      await pith([], {}); // the first makes store and indexes: a later one is the usual
      await pith(['--require', path.join(root, 'scripts/record-code.cjs')], { PITH_CODE_CACHE: file });
    }
  } catch (error) {
    process.stderr.write(`pith: no code cache, each start compiles what it runs: ${error.message}\n`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
