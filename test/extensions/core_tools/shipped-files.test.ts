import path from 'node:path';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openKernel } from '../../../core/cli/index.ts';
import { cli } from '../../core/cli/fakes.ts';
import { shippedRoot } from '../../../sandbox/extensions/core_tools/readable-root.ts';
import { folderWith } from '../../places.ts';
import { workbench, type Workbench } from './workbench.ts';

let bench: Workbench;
beforeEach(async () => void (bench = await workbench()));

const refused = { ok: false, error: { code: expect.stringMatching(/^(?:file_unavailable|protected)$/) } };

describe('K64 what ships is readable', () => {
  it('K64 shipped: paths are read, listed and described; a plain path is the sandbox', async () => {
    await bench.put('extensions/kv/main.ts', '// mine\n');
    expect(await bench.file({ action: 'read', path: 'shipped:extensions/kv/main.ts' })).toMatchObject({
      ok: true,
      output: { path: 'shipped:extensions/kv/main.ts', text: expect.stringContaining('ToolProvider') },
    });
    expect(await bench.file({ action: 'read', path: 'extensions/kv/main.ts' })).toMatchObject({ output: { text: '// mine\n' } });
    expect(await bench.file({ action: 'list', path: 'shipped:agents/orchestrator' })).toMatchObject({
      output: { entries: expect.arrayContaining([expect.objectContaining({ name: 'manifest.yaml' })]) },
    });
    expect(await bench.file({ action: 'stat', path: 'shipped:skills/skill-creator/SKILL.md' })).toMatchObject({ output: { type: 'file' } });
    const { output } = (await bench.file({ action: 'list', path: 'shipped:.' })) as unknown as { output: { entries: { name: string }[] } };
    const names = output.entries.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['agents', 'extensions', 'skills']));
    expect(names).not.toContain('data');
  });

  it('K64 nothing of it is changed, and nobody is asked about that', async () => {
    for (const call of [
      { action: 'write', path: 'shipped:extensions/kv/main.ts', content: 'x' },
      { action: 'delete', path: 'shipped:extensions/kv/main.ts' },
      { action: 'move', path: 'shipped:extensions/kv/main.ts', to: 'a.ts' },
      { action: 'copy', path: 'shipped:extensions/kv/main.ts', to: 'a.ts' },
      { action: 'copy', path: 'notes/a.md', to: 'shipped:extensions/kv/a.md' },
    ]) {
      expect(await bench.needsApproval('file', call)).toBe(false);
      expect(await bench.file(call)).toMatchObject(refused);
    }
    expect(await bench.file({ action: 'stat', path: 'shipped:extensions/kv/a.md' })).toMatchObject(refused);
  });

  it.each([
    ['state', 'shipped:data/pith.db'],
    ['the folder of state', 'shipped:data'],
    ['settings', 'shipped:pith.yaml'],
    ['keys', 'shipped:.env'],
    ['hidden files', 'shipped:extensions/.secret'],
    ['what lies above', 'shipped:../package.json'],
    ['what lies elsewhere', 'shipped:/etc/passwd'],
    ['what lies beside', 'shipped:extensions/../data/pith.db'],
  ])('K64 %s cannot be read that way', async (_, file) => {
    for (const action of ['read', 'stat', 'list']) expect(await bench.file({ action, path: file })).toMatchObject(refused);
  });

  it('K64 a link in it is not followed', async () => {
    const shipped = folderWith({ 'extensions/a/main.ts': 'x' });
    writeFileSync(path.join(shipped, '../canary-of-shipped'), 'canary');
    onTestFinished(() => rmSync(path.join(shipped, '../canary-of-shipped')));
    symlinkSync('../../../canary-of-shipped', path.join(shipped, 'extensions/a/link.ts'));
    const { jail } = shippedRoot(shipped);
    await expect(jail.read(['extensions', 'a', 'link.ts'], (handle) => handle.readFile())).rejects.toMatchObject({
      code: 'file_unavailable',
    });
  });

  it('K64 extensions show --source prints the files of an extension', async () => {
    const { code, out } = await cli(['extensions', 'show', 'kv', '--source'], { cwd: folderWith(), openKernel });
    expect(code).toBe(0);
    expect(out).toContain('── main.ts\n');
    expect(out).toContain('id: kv\n');
  });
});
