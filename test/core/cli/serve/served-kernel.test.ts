import fs from 'node:fs';
import path from 'node:path';
import { systemClock } from '@pith/promises';
import { expect, it, onTestFinished } from 'vitest';
import { serveKernel } from '../../../../core/cli/serve/served-kernel.ts';
import { terminalIO } from '../../../../core/cli/terminal/terminal-io.ts';
import { createKernel, createParts, type Kernel, part, STORE } from '../../../../core/compose/index.ts';
import { databaseFailure, openStore } from '../../../../core/store/index.ts';
import { folderWith, writeFiles } from '../../../places.ts';
import { sink } from '../fakes.ts';

it('K21 S13 waits while the disk is full, has begun nothing meanwhile, and starts once there is space', async () => {
  const sandbox = path.join(folderWith(), 'sandbox');
  fs.mkdirSync(sandbox);
  writeFiles(sandbox, {
    'pith.yaml': 'extensions: { server: { isolation: in_process } }\n',
    'extensions/server/manifest.yaml': 'id: server\nentrypoint: main.ts\nprovides: [service]\n',
    'extensions/server/main.ts': 'export default class { async runBackground() {} }\n',
  });
  const full = (file: string, errcode: number) => databaseFailure(Object.assign(new Error('no room'), { errcode }), file);
  const codes = [13, 4874]; // SQLITE_FULL, SQLITE_IOERR_SHMSIZE
  const begun: unknown[] = [];
  const parts = createParts().createChildContainer();
  part(parts, STORE, () => {
    const file = path.join(sandbox, 'data/pith.db');
    begun.push(kernel.host.extensions.state('server'));
    const code = codes.shift();
    if (code !== undefined) throw full(file, code);
    const store = openStore(file, systemClock);
    onTestFinished(() => store.close());
    return store;
  });
  const kernel: Kernel = await createKernel({ accepts: true, sandbox, env: {}, home: null, only: [] }, parts);
  onTestFinished(() => kernel.stop());
  const [out, err] = [sink(), sink()];
  const io = terminalIO(
    { input: process.stdin, output: out.stream, error: err.stream },
    { json: false, quiet: false, noColour: true, dumb: true, workingDirectory: sandbox, userId: 'ada' },
  );
  const end = new AbortController();
  const served = serveKernel(async () => kernel, {}, io, end.signal);
  await expect.poll(out.text, { timeout: 20_000 }).toContain('Serving ');
  end.abort();
  expect(await served).toBe(0);
  expect(begun).toEqual(['idle', 'idle', 'idle']);
  expect(err.text()).toMatch(/^pith: database \S+: the disk is full; free some space: pith serve waits for it, and starts then\n$/u);
});
