import { existsSync } from 'node:fs';
import { chmod, readFile, stat, symlink } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Jail } from '@pith/safe-files';
import { Policy } from '../../../sandbox/extensions/core_tools/policy.ts';
import { SYSTEMS, systemIs } from '../../without-proc.ts';
import { workbench, type Workbench } from './workbench.ts';
import { folderWith, lockOfDead } from '../../places.ts';
import { words } from '../../words.ts';

let bench: Workbench;
beforeEach(async () => void (bench = await workbench()));

const refused = (code: string) => ({ ok: false, error: { code } });

describe.each(SYSTEMS)('file on a system %s', (system) => {
  beforeEach(() => systemIs(system));

  it('K60 writes, reads, lists and describes files, making folders on the way', async () => {
    expect(await bench.file({ action: 'write', path: 'notes/a/b.md', content: 'Grüß Gott\n' })).toMatchObject({
      ok: true,
      output: { path: 'notes/a/b.md', bytes: 12 },
    });
    expect(await bench.file({ action: 'read', path: './notes//a/b.md' })).toMatchObject({
      ok: true,
      output: { path: 'notes/a/b.md', text: 'Grüß Gott\n' },
    });
    expect(await bench.file({ action: 'list', path: 'notes/a' })).toMatchObject({
      output: { entries: [{ name: 'b.md', type: 'file', size: 12 }] },
    });
    expect(await bench.file({ action: 'list', path: '.' })).toMatchObject({ output: { entries: [{ name: 'notes', type: 'directory' }] } });
    expect(await bench.file({ action: 'stat', path: 'notes' })).toMatchObject({ output: { type: 'directory' } });
    expect(await bench.file({ action: 'read', path: join(bench.sandbox, 'notes/a/b.md') })).toMatchObject({ ok: true });
  });

  it('E1 K60 moves, copies, writes and deletes files in turn, never over another by accident', async () => {
    await bench.put('a.txt', 'A');
    await bench.put('b.txt', 'B');
    const inTurn = async (input: Parameters<Workbench['file']>[0]) => {
      const lock = lockOfDead(join(bench.sandbox, 'data/extensions/core_tools/locks'), bench.sandbox);
      expect(await bench.file(input)).toMatchObject({ ok: true });
      expect(existsSync(lock)).toBe(false);
    };
    await inTurn({ action: 'copy', path: 'a.txt', to: 'c/d.txt' });
    expect(await bench.file({ action: 'move', path: 'a.txt', to: 'b.txt' })).toMatchObject(refused('target_exists'));
    expect(await bench.get('b.txt')).toBe('B');
    await inTurn({ action: 'move', path: 'a.txt', to: 'b.txt', overwrite: true });
    expect([await bench.get('b.txt'), await bench.get('c/d.txt')]).toEqual(['A', 'A']);
    expect(await bench.file({ action: 'delete', path: 'c' })).toMatchObject(refused('folder_not_empty'));
    await inTurn({ action: 'delete', path: 'c/d.txt' });
    await inTurn({ action: 'delete', path: 'c' });
    expect(await bench.names()).toEqual(['b.txt']);
    expect(await bench.file({ action: 'delete', path: '.' })).toMatchObject({ ok: false });
    await inTurn({ action: 'write', path: 'b.txt', content: 'C' });
  });

  it('K60 replaces a file as a whole, keeps its mode and leaves nothing beside it', async () => {
    await bench.put('run.sh', 'old');
    await chmod(join(bench.sandbox, 'run.sh'), 0o750);
    const before = await stat(join(bench.sandbox, 'run.sh'));
    await bench.file({ action: 'write', path: 'run.sh', content: 'new' });
    const after = await stat(join(bench.sandbox, 'run.sh'));
    expect(await bench.get('run.sh')).toBe('new');
    expect(after.mode & 0o777).toBe(0o750);
    expect(after.ino).not.toBe(before.ino); // renamed into place: a reader of the old file still sees the old text
    expect(await bench.names()).toEqual(['run.sh']);
  });

  it('K60 reads long text in parts that meet between characters', async () => {
    const text = `x${'é'.repeat(100_000)}`; // two bytes each: the limit falls inside one
    await bench.put('long.txt', text);
    const read: string[] = [];
    for (let part = 1; part <= 4; part += 1) {
      const result = await bench.file({ action: 'read', path: 'long.txt', part });
      expect(result).toMatchObject({ ok: true, output: { part, parts: 4 } });
      if (result.ok) read.push((result.output as { text: string }).text);
    }
    expect(read.join('')).toBe(text);
    expect(await bench.file({ action: 'read', path: 'long.txt', part: 5 })).toMatchObject(refused('part_unknown'));
  });

  it('K60 gives type, size and digest of a binary file and never its bytes', async () => {
    const bytes = Buffer.concat([Buffer.from('PNG'), Buffer.alloc(10), Buffer.from('CANARY')]);
    await bench.put('a.png', bytes);
    await bench.put('latin1.txt', Buffer.from([0x47, 0xfc, 0x6e]));
    const result = await bench.file({ action: 'read', path: 'a.png' });
    expect(result).toMatchObject({
      output: { binary: true, type: 'image/png', size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') },
    });
    expect(JSON.stringify(result)).not.toContain('CANARY');
    expect(await bench.file({ action: 'read', path: 'latin1.txt' })).toMatchObject({ output: { binary: true } });
    await bench.file({ action: 'copy', path: 'a.png', to: 'b.png' });
    expect((await readFile(join(bench.sandbox, 'b.png'))).equals(bytes)).toBe(true);
  });

  it('K60 refuses to write more than its cap and leaves the old file', async () => {
    await bench.put('a.txt', 'old');
    const tooLong = await bench.file({ action: 'write', path: 'a.txt', content: 'x'.repeat(1024 * 1024 + 1) });
    expect(tooLong).toMatchObject(refused('file_too_large'));
    expect(await bench.get('a.txt')).toBe('old');
  });

  it('K60 cuts a very long folder and says how many are left', async () => {
    for (let index = 0; index < 503; index += 1) await bench.put(`many/${String(index).padStart(4, '0')}`, '');
    const result = await bench.file({ action: 'list', path: 'many' });
    expect(result).toMatchObject({ output: { more: 3 } });
    expect(result).toHaveProperty('output.entries.length', 500);
  });

  it('K60 says what an action lacks', async () => {
    expect(await bench.file({ action: 'write', path: 'a' })).toMatchObject(refused('content_missing'));
    expect(await bench.file({ action: 'move', path: 'a' })).toMatchObject(refused('target_missing'));
    expect(await bench.file({ action: 'format', path: 'a' })).toMatchObject(refused('tool_input_invalid'));
  });

  it('K60 does nothing once it is aborted', async () => {
    expect(await bench.file({ action: 'write', path: 'a.txt', content: 'x' }, AbortSignal.abort())).toMatchObject(refused('aborted'));
    expect(await bench.names()).toEqual([]);
  });
});

describe('what needs a person', () => {
  const asks = (input: Parameters<Workbench['file']>[0]) => bench.needsApproval('file', input);

  it('K60 asks before changes under extensions and agents, not for reading or for notes', async () => {
    await bench.put('extensions/kv/main.ts', 'code');
    await bench.put('note.md', 'text');
    for (const path of words(`
      extensions/kv/main.ts extensions/new/a.ts agents/x/manifest.yaml ./agents//y/AGENT.md Extensions/x/a more/AGENT.md
      node_modules/a/b.js team/helper/prompt.jinja2 team/helper/Prompt.J2 prompt.njk
    `)) {
      for (const call of [
        { action: 'write', path, content: '' },
        { action: 'delete', path },
        { action: 'move', path: 'note.md', to: path, overwrite: true },
        { action: 'copy', path: 'note.md', to: path, overwrite: true },
      ]) {
        expect({ call, asks: await asks(call) }).toEqual({ call, asks: true });
      }
    }
    expect(await asks({ action: 'move', path: 'extensions/kv/main.ts', to: 'note.md' })).toBe(true);
    expect(await asks({ action: 'read', path: 'extensions/kv/main.ts' })).toBe(false);
    expect(await asks({ action: 'copy', path: 'extensions/kv/main.ts', to: 'note.md' })).toBe(false);
    expect(await asks({ action: 'write', path: 'notes/a.md', content: '' })).toBe(false);
  });

  it('K60 asks before any change in a folder that declares an agent or an extension, wherever it stands', async () => {
    await bench.put('team/helper/manifest.yaml', 'id: helper');
    await bench.put('crew/scout/Agent.md', 'Scouts.');
    for (const path of ['team/helper/prompt.jinja2', 'team/helper/lib/deep/tool.ts', 'crew/scout/notes.md'])
      expect({ path, asks: await asks({ action: 'write', path, content: '' }) }).toEqual({ path, asks: true });
    const patch = '--- /dev/null\n+++ b/team/helper/lib/a.ts\n@@ -0,0 +1 @@\n+x\n';
    expect(await bench.needsApproval('apply_patch', { patch })).toBe(true);
    expect(await asks({ action: 'write', path: 'team/notes.md', content: '' })).toBe(false);
  });

  it('K60 asks before a new skill where nothing keeps drafts', async () => {
    const call = { action: 'write', path: 'skills/new/SKILL.md', content: '---' };
    const alone = await workbench({ extensions: { skill_registry: { enabled: false } } });
    expect(await alone.needsApproval('file', call)).toBe(true);
    expect(await asks(call)).toBe(false);
    expect(await asks({ ...call, path: 'extensions/x/SKILL.md' })).toBe(true);
  });

  it('K60 refuses every change of an existing skill and names the way', async () => {
    await bench.put('skills/old/skill.md', 'body');
    await bench.put('group/deep/SKILL.md', 'body');
    await bench.put('note.md', 'text');
    for (const call of [
      { action: 'write', path: 'skills/old/skill.md', content: 'x' },
      { action: 'write', path: 'skills/old/references/a.md', content: 'x' },
      { action: 'write', path: 'group/deep/more/a.md', content: 'x' },
      { action: 'delete', path: 'skills/old/skill.md' },
      { action: 'move', path: 'skills/old/skill.md', to: 'note2.md' },
      { action: 'copy', path: 'note.md', to: 'skills/old/note.md' },
    ]) {
      const result = await bench.file(call);
      expect({ call, result }).toMatchObject({
        call,
        result: { ok: false, error: { code: 'use_proposal', message: expect.stringContaining('propose a change to the person') } },
      });
      expect(await asks(call)).toBe(false);
    }
    expect(await bench.get('skills/old/skill.md')).toBe('body');
    expect(await bench.file({ action: 'read', path: 'skills/old/skill.md' })).toMatchObject({ ok: true });
  });

  it('K60 K61 neither reads nor changes state, settings and keys', async () => {
    for (const path of ['data/kv/x.json', 'data/pith.db', 'pith.yaml', '.env', 'extensions/a/.env.local', '.git/config', 'DATA/x']) {
      await bench.put(path, 'CANARY');
      for (const call of [
        { action: 'read', path },
        { action: 'stat', path },
        { action: 'write', path, content: 'x' },
        { action: 'delete', path },
        { action: 'copy', path, to: 'a' },
        { action: 'move', path, to: 'a' },
      ]) {
        const result = await bench.file(call);
        expect({ call, result }).toMatchObject({ call, result: refused('protected') });
        expect(JSON.stringify(result)).not.toContain('CANARY');
      }
      expect(await bench.get(path)).toBe('CANARY');
    }
    const listed = await bench.file({ action: 'list', path: '.' });
    expect(JSON.stringify(listed)).not.toMatch(/data|pith\.yaml|\.env|\.git/i);
  });

  it('K60 K61 keeps state closed where the settings put it elsewhere in the sandbox, also by a link', async () => {
    for (const folder of ['state/deep', 'alias']) {
      const sandbox = folderWith({ 'state/deep/pith.db': 'CANARY' });
      const alias = join(folderWith(), 'alias');
      await symlink(join(sandbox, 'state'), alias);
      const moved = await workbench({ data_dir: folder === 'alias' ? join(alias, 'deep') : join(sandbox, folder) }, sandbox);
      for (const path of ['state/deep/pith.db', 'State/deep/pith.db', 'state/deep']) {
        const result = await moved.file({ action: 'read', path });
        expect({ folder, path, result }).toMatchObject({ folder, path, result: refused('protected') });
        expect(await moved.file({ action: 'write', path, content: 'x' })).toMatchObject(refused('protected'));
      }
      expect(await moved.file({ action: 'write', path: 'state/mine.md', content: 'x' })).toMatchObject({ ok: true });
    }
    const policy = new Policy(new Jail(bench.sandbox), { data: () => bench.sandbox, drafts: () => null, mayChangePith: async () => true });
    expect(() => policy.requireReadable(['PITH.db'])).toThrow(expect.objectContaining({ code: 'protected' }));
  });
});
