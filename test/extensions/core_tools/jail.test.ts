import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { link, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { ToolResult } from 'pith';
import { beforeEach, describe, expect, it } from 'vitest';
import { SECRET, workbench, type Workbench } from './workbench.ts';
import { SYSTEMS, systemIs, wentWithoutProc } from '../../without-proc.ts';
import { words } from '../../words.ts';

let bench: Workbench;

const changes = (path: string) => [
  { action: 'write', path, content: 'overwritten' },
  { action: 'delete', path },
  { action: 'copy', path: 'inside.txt', to: path, overwrite: true },
  { action: 'move', path: 'inside.txt', to: path, overwrite: true },
];
const reads = (path: string) => [
  { action: 'read', path },
  { action: 'list', path },
  { action: 'stat', path },
  { action: 'copy', path, to: 'stolen' },
  { action: 'move', path, to: 'stolen' },
];

const messageOf = (result: ToolResult): string => (result.ok ? '' : result.error.message);

async function expectUntouched(): Promise<void> {
  expect(await readdir(bench.outside)).toEqual(['secret.txt']);
  expect(await readFile(join(bench.outside, 'secret.txt'), 'utf8')).toBe(SECRET);
  expect(await bench.names()).not.toContain('stolen');
}

describe.each(SYSTEMS)('the jail of the file tools on a system %s', (system) => {
  beforeEach(async () => {
    systemIs(system);
    bench = await workbench();
  });

  it('K60 refuses every way out, with one error that does not tell what exists', async () => {
    await bench.put('inside.txt', 'inside');
    const up = words(`
      ../outside/secret.txt a/../../outside/secret.txt ./../outside/secret.txt .. ../.. .././/outside/secret.txt
      ${bench.sandbox}/../outside/secret.txt
    `);
    const absolute = words(`
      ${join(bench.outside, 'secret.txt')} /etc/passwd //etc/passwd file:///etc/passwd ~/secret C:\\secret c:/secret
      ${bench.sandbox}x/y /proc/self/environ
    `);
    const encoded = words(`
      ..\\outside\\secret.txt %2e%2e/outside/secret.txt ..%2foutside%2fsecret.txt %2e%2e%2foutside ..%c0%afoutside
      ．．/outside \u2025/outside a\0/../../outside/secret.txt inside.txt\0 ..;/outside
    `);
    const odd = ['a\n../b', 'x'.repeat(300), 'y/'.repeat(600), '....//outside/secret.txt', '..../outside'];
    for (const path of [...up, ...absolute, ...encoded, ...odd]) {
      for (const call of reads(path)) {
        const result = await bench.file(call);
        expect({ call, result }).toMatchObject({ call, result: { ok: false, error: { code: 'file_unavailable' } } });
        expect(messageOf(result).replace(/'[^']*'/s, '')).not.toMatch(/outside\/|secret|ENOENT|\/proc/);
      }
    }
    for (const path of [...up, ...absolute.filter((name) => !name.startsWith('file:'))]) {
      for (const call of changes(path)) expect({ call, result: await bench.file(call) }).toMatchObject({ call, result: { ok: false } });
    }
    const missing = await bench.file({ action: 'read', path: 'no-such' });
    const existing = await bench.file({ action: 'read', path: '../outside/secret.txt' });
    expect(messageOf(missing).replace('no-such', '')).toBe(messageOf(existing).replace('../outside/secret.txt', ''));
    await expectUntouched();
    expect(wentWithoutProc()).toBe(system === 'without /proc');
  });

  it('K60 uses no link, no file with a second name, no pipe and no socket', async () => {
    await bench.put('inside.txt', 'inside');
    await symlink(join(bench.outside, 'secret.txt'), join(bench.sandbox, 'link'));
    await symlink(bench.outside, join(bench.sandbox, 'folder-link'));
    await symlink('inside.txt', join(bench.sandbox, 'inner-link'));
    await symlink('/nowhere', join(bench.sandbox, 'dangling'));
    await symlink('loop', join(bench.sandbox, 'loop'));
    await link(join(bench.outside, 'secret.txt'), join(bench.sandbox, 'hard'));
    execFileSync('mkfifo', [join(bench.sandbox, 'pipe')]);
    const socket = createServer().listen(join(bench.sandbox, 'socket'));
    await once(socket, 'listening');
    try {
      for (const path of words(`
        link folder-link folder-link/secret.txt inner-link dangling loop loop/x hard pipe socket inside.txt/x
      `)) {
        for (const call of [...reads(path), ...changes(path)])
          expect({ call, result: await bench.file(call) }).toMatchObject({ call, result: { ok: false } });
      }
      expect(await bench.file({ action: 'list', path: '.' })).toMatchObject({ output: { entries: [{ name: 'inside.txt' }] } });
      expect(await bench.get('inside.txt')).toBe('inside');
    } finally {
      socket.close();
    }
    await expectUntouched();
  });

  it('K60 K61 stays inside while another process swaps folders and files for links', async () => {
    await mkdir(join(bench.sandbox, 'play'));
    const script = `
      const fs = require('node:fs'); const [play, outside] = process.argv.slice(1); const at = (name) => play + '/' + name;
      const attempt = (step) => { try { step(); } catch (error) { if (!error.code) throw error; } };
      const put = (target, make) => { attempt(make); attempt(() => fs.renameSync(at(target), at('old'))); attempt(() => fs.renameSync(at('next'), at(target)));
        for (const name of ['old', 'next']) attempt(() => fs.rmSync(at(name), { recursive: true, force: true })); };
      process.stdout.write('ready');
      for (;;) {
        put('now', () => fs.symlinkSync(outside, at('next')));
        put('now', () => { fs.mkdirSync(at('next')); fs.writeFileSync(at('next/secret.txt'), 'inside'); });
        put('file', () => fs.symlinkSync(outside + '/secret.txt', at('next')));
        put('file', () => fs.linkSync(outside + '/secret.txt', at('next')));
        put('file', () => fs.writeFileSync(at('next'), 'inside'));
      }`;
    const swapper = spawn(process.execPath, ['-e', script, join(bench.sandbox, 'play'), bench.outside], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(swapper, 'close');
    try {
      await Promise.race([once(swapper.stdout, 'data'), closed]);
      let succeeded = 0;
      for (let round = 0; round < 50; round += 1) {
        for (const path of ['play/now/secret.txt', 'play/file']) {
          const result = await bench.file({ action: 'read', path });
          if (result.ok) succeeded += 1;
          expect(JSON.stringify(result)).not.toContain(SECRET);
        }
        await bench.file({ action: 'write', path: 'play/now/secret.txt', content: 'inside' });
        await bench.file({ action: 'write', path: `play/now/new-${round % 5}.txt`, content: 'inside' });
        await bench.file({ action: 'delete', path: `play/now/new-${round % 5}.txt` });
      }
      expect(succeeded).toBeGreaterThan(0);
    } finally {
      swapper.kill('SIGKILL');
      await closed;
    }
    await expectUntouched();
  });

  it('K60 names neither system paths nor content in what it says of a failed write', async () => {
    await bench.put('folder/file.txt', 'CANARY');
    const result = await bench.file({ action: 'write', path: 'folder', content: 'x' });
    expect(result).toMatchObject({ ok: false, error: { code: 'file_unavailable' } });
    expect(JSON.stringify(result)).not.toMatch(/CANARY|\/proc|\/tmp/);
    await writeFile(join(bench.sandbox, 'plain'), '');
    const below = await bench.file({ action: 'write', path: 'plain/x', content: 'x' });
    expect(below).toMatchObject({ ok: false, error: { code: 'file_unavailable' } });
  });
});
