import { spawn } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectFolder, type Ended, type Folder } from './pith-process.ts';

const EXTENSION = `import { defineTool, z } from 'pith';
export default class { getTools() { return [defineTool({ name: 'hi', description: 'd', input: z.object({}), execute: () => 'hi' })]; } }`;

let folder: Folder;
beforeAll(async () => {
  folder = await projectFolder({
    'extensions/hi/manifest.yaml': 'id: hi\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [tool]\n',
    'extensions/hi/main.ts': EXTENSION,
  });
});
afterAll(() => folder.remove());

/** `pith doctor` that may have so many files open. */
function doctor(descriptors: number): Promise<Ended> {
  const command = `ulimit -n ${descriptors}; exec "$0" "$@"`;
  const child = spawn('/bin/sh', ['-c', command, process.execPath, path.resolve('bin/pith'), 'doctor'], {
    cwd: folder.path,
    env: { PATH: process.env['PATH'], HOME: folder.path, PITH_TRUST: '1' },
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, out, err })));
}

it.skipIf(process.platform === 'win32')(
  'T12 F16: without descriptors for a process, doctor says what could not be started; with them all is well again',
  async () => {
    const told: string[] = [];
    for (const descriptors of [20, 22, 24, 26, 28]) {
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
