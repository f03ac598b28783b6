import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createKernel } from '../../../core/compose/index.ts';
import { testKernel } from 'pith/testing';
import { expect, it } from 'vitest';

it('K7 a damaged database fails with its file and the cure, and the kernel still stops', async () => {
  await using folder = await testKernel({ shipped: false });
  const file = path.join(folder.sandbox, 'spoilt', 'pith.db');
  await mkdir(path.dirname(file));
  await writeFile(file, 'no database at all '.repeat(500));
  await writeFile(path.join(folder.sandbox, 'pith.yaml'), 'data_dir: spoilt\n');
  const kernel = await createKernel({ accepts: true, sandbox: folder.sandbox, env: {}, shipped: false });
  await expect(kernel.start()).rejects.toMatchObject({
    code: 'database_failed',
    message: expect.stringContaining(file),
    cure: 'restore it from a backup, or move it away to start empty',
  });
  await kernel.stop();
});
