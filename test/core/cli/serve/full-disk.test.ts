import path from 'node:path';
import { systemClock } from '@pith/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createKernel, createParts, type Kernel, part, STORE } from '../../../../core/compose/index.ts';
import { databaseFailure, openStore } from '../../../../core/store/index.ts';
import { folderWith } from '../../../places.ts';
import { cli } from '../fakes.ts';
import { superviseHere } from './supervisor.ts';

it('K21 S13 pith serve waits while the disk is full, has begun nothing meanwhile, and starts once there is space', async () => {
  const folder = folderWith({
    'sandbox/pith.yaml': 'extensions: { server: { isolation: in_process } }\n',
    'sandbox/extensions/server/manifest.yaml': 'id: server\nentrypoint: main.ts\nprovides: [service]\n',
    'sandbox/extensions/server/main.ts': 'export default class { async runBackground() {} }\n',
  });
  const sandbox = path.join(folder, 'sandbox');
  const file = path.join(sandbox, 'data/pith.db');
  const codes = [13, 4874]; // SQLITE_FULL, SQLITE_IOERR_SHMSIZE
  const begun: unknown[] = [];
  const parts = createParts().createChildContainer();
  part(parts, STORE, () => {
    begun.push(kernel.host.extensions.state('server'));
    const errcode = codes.shift();
    if (errcode !== undefined) throw databaseFailure(Object.assign(new Error('no room'), { errcode }), file);
    const store = openStore(file, systemClock);
    onTestFinished(() => store.close());
    return store;
  });
  const kernel: Kernel = await createKernel({ accepts: true, sandbox, env: {}, home: null, only: [] }, parts);
  const end = new AbortController();
  superviseHere();
  const served = cli(['serve'], { cwd: folder, openKernel: async () => kernel, env: { PITH_SUPERVISED: '1' }, signal: end.signal });
  await expect.poll(() => kernel.host.extensions.state('server'), { timeout: 20_000 }).toBe('active');
  end.abort();
  const err = `pith: database ${file}: the disk is full; free some space: pith serve waits for it, and starts then\n`;
  expect(await served).toMatchObject({ code: 0, err });
  expect(begun).toEqual(['idle', 'idle', 'idle']);
});
