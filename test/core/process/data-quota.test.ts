import path from 'node:path';
import { linkSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { whyTooLarge } from '../../../core/process/index.ts';
import { testKernel } from 'pith/testing';
import { folderWith, writeFiles } from '../../places.ts';
import { CALL } from '../kernel/extensions.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
const MOST_FILES = isLong ? 100_000 : 1000;

describe('the room of an extension', () => {
  it('T7 F21: is counted on disk, without what links lead to', async () => {
    const folder = folderWith({ 'a/b/c.txt': 'x'.repeat(50_000), 'd.txt': 'x' });
    expect(await whyTooLarge(folder, 0.04)).toContain('more than 0.04 MB');
    expect(await whyTooLarge(folder, 0.2)).toBeNull();
    expect(await whyTooLarge(path.join(folder, 'absent'), 1)).toBeNull();
  });

  it('T7 F21: ends a process that keeps more, says why, and doctor tells it', async () => {
    await using pith = await testKernel({
      isolation: 'process',
      only: [],
      flags: { quotas: { data_mb: 1 } },
      files: {
        'extensions/hoarder/manifest.yaml': 'id: hoarder\nentrypoint: main.ts\nprovides: [tool]\n',
        'extensions/hoarder/main.ts': `import { writeFileSync } from 'node:fs';
          import { defineTool, z } from 'pith';
          export default class Hoarder {
            constructor(private readonly context) {}
            getTools() {
              return [defineTool({ name: 'hoard', description: 'Keeps.', input: z.object({}), execute: async (_, call) => {
                writeFileSync(this.context.dataDirectory + '/big', Buffer.alloc(3_000_000, 1));
                await new Promise((resolve) => call.signal.addEventListener('abort', resolve));
              } })];
            }
          }`,
      },
    });
    const { extensions, providers } = pith.kernel.host;
    await providers.tools.call('hoarder', 'hoard', {}, { ...CALL, signal: new AbortController().signal });
    const failed = extensions.failures().find(({ extensionId }) => extensionId === 'hoarder');
    expect(failed).toMatchObject({ code: 'quota_exceeded', cure: expect.stringContaining('quotas.data_mb') });
    const report = await pith.kernel.doctor();
    expect(report.notes).toContainEqual(expect.objectContaining({ code: 'quota_exceeded', severity: 'error' }));
  });

  it('T7 F21: counts many small files too', async () => {
    const folder = folderWith({ 'a/0': '', 'b/0': '' });
    for (let index = 1; index < MOST_FILES / 2; index += 1)
      for (const part of ['a', 'b']) linkSync(path.join(folder, part, '0'), path.join(folder, part, `${index}`));
    const why = () => whyTooLarge(folder, 1000, isLong ? undefined : MOST_FILES);
    rmSync(path.join(folder, 'a/1'));
    rmSync(path.join(folder, 'b/1')); // the two folders count, too
    expect(await why()).toBeNull();
    writeFiles(folder, { one: '' });
    expect(await why()).toContain(`more than ${MOST_FILES} files`);
  });
});
