import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { whyTooLarge } from '../../../core/process/index.ts';
import { testKernel } from 'pith/testing';
import { folderWith } from '../../places.ts';
import { CALL } from '../kernel/extensions.ts';

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
      shipped: false,
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
    const names = Array.from({ length: 250 }, (_, index) => [`a/${index}`, `b/${index}`]).flat();
    const folder = folderWith(Object.fromEntries(names.map((name) => [name, ''])));
    expect(await whyTooLarge(folder, 1000, 501)).toContain('more than 501 files'); // with the two folders there are 502
    expect(await whyTooLarge(folder, 1000, 502)).toBeNull();
    expect(await whyTooLarge(folder, 1000)).toBeNull();
  });
});
