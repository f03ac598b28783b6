import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectFolder, runPith, type Folder } from './pith-process.ts';
import { toolExtension } from './sandbox-files.ts';

let folder: Folder;
beforeAll(async () => {
  folder = await projectFolder(toolExtension('hi', 'hi', "'hi'"));
});
afterAll(() => folder.remove());

const doctor = (descriptors: number) => runPith(['doctor'], { cwd: folder.path, descriptors });

it.skipIf(process.platform === 'win32')(
  'T12 F16: without descriptors for a process, doctor says what could not be started; with them all is well again',
  async () => {
    const told: string[] = [];
    for (const descriptors of [20, 24, 28, 32, 36]) {
      const { code, out, err } = await doctor(descriptors);
      expect(code).toBe(1);
      expect(out + err).not.toMatch(/^\s+at |node:internal|Unhandled/m);
      told.push(out + err);
    }
    expect(told.filter((text) => /process_not_started|could not be started/.test(text)).length).toBeGreaterThan(2);
    expect(await doctor(256)).toMatchObject({ code: 0, out: expect.stringMatching(/hi +active/) });
  },
  120_000,
);
