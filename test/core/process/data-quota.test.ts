import path from 'node:path';
import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { whyTooLarge } from '../../../core/kernel/index.ts';
import { measureFolder } from '../../../core/kernel/records/data-watch.ts';
import { testKernel } from 'pith/testing';
import { folderWith } from '../kernel/sandbox-folder.ts';
import { CALL } from '../kernel/extensions.ts';

describe('the room of an extension', () => {
  it('T7 F21: is counted on disk, without what links lead to', async () => {
    const folder = folderWith({ 'a/b/c.txt': 'x'.repeat(50_000), 'd.txt': 'x' });
    const { bytes, files } = await measureFolder(folder, Infinity);
    expect(files).toBe(4);
    expect(bytes).toBeGreaterThanOrEqual(50_000);
    expect(bytes).toBeLessThan(200_000);
    expect(await whyTooLarge(path.join(folder, 'absent'), 1)).toBeNull();
  });

  it('T7 F21: ends a process that keeps more, says why, and doctor tells it', async () => {
    await using pith = await testKernel({
      isolation: 'process',
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
    const { extensions } = pith.kernel;
    await extensions.callTool('hoarder', 'hoard', {}, CALL, new AbortController().signal);
    const failed = extensions.failures().find(({ extensionId }) => extensionId === 'hoarder');
    expect(failed).toMatchObject({ code: 'quota_exceeded', cure: expect.stringContaining('quotas.data_mb') });
    const report = await pith.kernel.doctor();
    expect(report.notes).toContainEqual(expect.objectContaining({ code: 'quota_exceeded', severity: 'error' }));
  }, 30_000);

  it('T7 F21: counts many small files too', async () => {
    const folder = folderWith({});
    mkdirSync(path.join(folder, 'many'));
    for (let index = 0; index < 300; index += 1) writeFileSync(path.join(folder, 'many', `${index}`), '');
    expect((await measureFolder(folder, Infinity)).files).toBe(301);
  });
});
