import { chmod, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ToolCall } from 'pith';
import { OneAtATime } from '@pith/folder-changes';
import { fileBusy, FileRefused, Jail, stateFolder } from '@pith/safe-files';
import { patchTool } from '../../../sandbox/extensions/core_tools/patch-tool.ts';
import { Policy } from '../../../sandbox/extensions/core_tools/policy.ts';
import { folderWith } from '../../places.ts';
import { TURN } from '../../fixtures/agent-spec.ts';
import { SYSTEMS, systemIs } from '../../without-proc.ts';
import { workbench, type Workbench } from './workbench.ts';

let bench: Workbench;
beforeEach(async () => void (bench = await workbench()));

const change = (path: string, before: string, after: string) =>
  `--- a/${path}\n+++ b/${path}\n@@ -1,3 +1,3 @@\n one\n-${before}\n+${after}\n three\n`;
const add = (path: string, text: string) => `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+${text}\n`;
const remove = (path: string, text: string) => `--- a/${path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-${text}\n`;
/** The tool over a jail in which something happens. */
const patched = async (jail: Jail, patch: string) =>
  patchTool(
    jail,
    new Policy(jail, { data: () => join(bench.sandbox, 'data'), drafts: () => null, mayChangePith: async () => true }),
    new OneAtATime({ folder: stateFolder(folderWith()), busy: fileBusy }),
  ).execute({ patch }, {
    signal: new AbortController().signal,
    turn: TURN,
  } as ToolCall);
const THREE = 'one\ntwo\nthree\n';

describe.each(SYSTEMS)('apply_patch on a system %s', (system) => {
  beforeEach(() => systemIs(system));

  it('K60 changes, adds, removes and renames files in one go', async () => {
    await bench.put('a.txt', THREE);
    await bench.put('gone.txt', 'bye\n');
    await bench.put('old.txt', THREE);
    const rename = '--- a/old.txt\n+++ b/deep/new.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n';
    const result = await bench.patch(change('a.txt', 'two', 'TWO') + add('more/new.txt', 'hi') + remove('gone.txt', 'bye') + rename);
    expect(result).toMatchObject({
      ok: true,
      output: {
        changed: [
          { path: 'a.txt', how: 'changed' },
          { path: 'more/new.txt', how: 'added' },
          { path: 'gone.txt', how: 'removed' },
          { path: 'deep/new.txt', how: 'added' },
          { path: 'old.txt', how: 'removed' },
        ],
      },
    });
    const written = { 'a.txt': 'one\nTWO\nthree\n', 'more/new.txt': 'hi\n', 'deep/new.txt': 'one\n2\nthree\n' };
    for (const [file, text] of Object.entries(written)) expect(await bench.get(file)).toBe(text);
    expect(await bench.names()).toEqual(['a.txt', 'deep', 'more']);
  });

  it('K60 finds a hunk whose line has moved, keeps line ends and mode', async () => {
    await bench.put('a.txt', `${'\r\n'.repeat(5)}one\r\ntwo\r\nthree\r\n`);
    await chmod(join(bench.sandbox, 'a.txt'), 0o700);
    expect(await bench.patch(change('a.txt', 'two', 'TWO'))).toMatchObject({ ok: true });
    expect(await bench.get('a.txt')).toBe(`${'\r\n'.repeat(5)}one\r\nTWO\r\nthree\r\n`);
    expect((await stat(join(bench.sandbox, 'a.txt'))).mode & 0o777).toBe(0o700);
  });

  it('K60 changes nothing when one hunk does not fit, and names hunk, file, line and what stands there', async () => {
    await bench.put('a.txt', THREE);
    await bench.put('b.txt', `${THREE}4\n5\n6\n`);
    const second = `--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n@@ -5,2 +5,2 @@\n-five\n+V\n 6\n`;
    const result = await bench.patch(change('a.txt', 'two', 'TWO') + second);
    const message = expect.stringMatching(
      /Hunk 2 of 2 does not fit 'b\.txt' at line 5: expected `five`, line 5 is `5`.*Nothing was changed/,
    );
    expect(result).toMatchObject({ ok: false, error: { code: 'patch_failed', message } });
    expect([await bench.get('a.txt'), await bench.names()]).toEqual([THREE, ['a.txt', 'b.txt']]);
  });

  it('K60 names the hunk that does not fit where several name one line', async () => {
    await bench.put('a.txt', THREE);
    const hunks = ['-one\n+1\n', '-four\n+4\n'].map((lines) => `@@ -1 +1 @@\n${lines}`).join('');
    const message = expect.stringMatching(/Hunk 2 of 2 does not fit 'a\.txt' at line 2: expected `four`, line 2 is `two`/);
    expect(await bench.patch(`--- a/a.txt\n+++ b/a.txt\n${hunks}`)).toMatchObject({ error: { code: 'patch_failed', message } });
  });

  it('K60 puts everything back when a later file cannot be written', async () => {
    await bench.put('a.txt', THREE);
    await bench.put('b.txt', THREE);
    await bench.put('gone.txt', 'bye\n');
    const jail = new Jail(bench.sandbox);
    const removes = jail.remove.bind(jail);
    jail.remove = async (segments) => {
      if (segments[0] === 'gone.txt') throw new FileRefused('file_failed', 'no space is left');
      return removes(segments);
    };
    const patch = change('a.txt', 'two', '2') + add('new.txt', 'hi') + change('b.txt', 'two', '2') + remove('gone.txt', 'bye');
    await expect(patched(jail, patch)).rejects.toMatchObject({ code: 'file_failed' });
    expect([await bench.get('a.txt'), await bench.get('b.txt'), await bench.get('gone.txt')]).toEqual([THREE, THREE, 'bye\n']);
    expect(await bench.names()).toEqual(['a.txt', 'b.txt', 'gone.txt']);
  });

  it('K60 does not overwrite what another has changed since the patch was checked', async () => {
    await bench.put('a.txt', THREE);
    const jail = new Jail(bench.sandbox);
    const stages = jail.stage.bind(jail);
    jail.stage = async (segments, bytes) => {
      await writeFile(join(bench.sandbox, 'a.txt'), 'changed by another');
      return stages(segments, bytes);
    };
    await expect(patched(jail, change('a.txt', 'two', '2'))).rejects.toMatchObject({ code: 'file_changed' });
    expect([await bench.get('a.txt'), await bench.names()]).toEqual(['changed by another', ['a.txt']]);
  });

  it.each([
    ['prefixes come off together', '--- b/config.txt\n+++ b/config.txt\n@@ -1 +1 @@\n-one\n+1\n', 'b/config.txt', '1\n'],
    ['names without prefixes', 'diff --git a.txt a.txt\n--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+1\n', 'a.txt', '1\n'],
    ['a folder named like a prefix', '--- a/a/deep.txt\n+++ b/a/deep.txt\n@@ -1 +1 @@\n-one\n+1\n', 'a/deep.txt', '1\n'],
    [
      'an empty new file',
      'diff --git a/new/__init__.py b/new/__init__.py\nnew file mode 100644\nindex 0000000..e69de29\n',
      'new/__init__.py',
      '',
    ],
    [
      'a name alone',
      'diff --git a/a.txt b/moved.txt\nsimilarity index 100%\nrename from a.txt\nrename to moved.txt\n',
      'moved.txt',
      'one\n',
    ],
  ])('E3 %s: as git reads it', async (_what, text, file, after) => {
    for (const name of ['a.txt', 'a/deep.txt', 'b/config.txt']) await bench.put(name, 'one\n');
    expect(await bench.patch(text)).toMatchObject({ ok: true });
    expect(await bench.get(file)).toBe(after);
    expect(await bench.names()).not.toContain('config.txt');
  });

  it('E3 removes an empty file, and keeps, gives and takes the right to run a file', async () => {
    const modeOf = async (name: string) => (await stat(join(bench.sandbox, name))).mode & 0o777;
    await bench.put('empty.txt', '');
    await bench.put('old.sh', THREE);
    await chmod(join(bench.sandbox, 'old.sh'), 0o750);
    const removed = 'diff --git a/empty.txt b/empty.txt\ndeleted file mode 100644\nindex e69de29..0000000\n';
    const renamed = `diff --git a/old.sh b/new.sh\nsimilarity index 80%\nrename from old.sh\nrename to new.sh\n--- a/old.sh\n+++ b/new.sh\n@@ -2 +2 @@\n-two\n+2\n`;
    const made = 'diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+hi\n';
    expect(await bench.patch(removed + renamed + made)).toMatchObject({ ok: true });
    expect(await bench.names()).toEqual(['new.sh', 'run.sh']);
    expect([await modeOf('new.sh'), (await modeOf('run.sh')) & 0o111]).toEqual([0o750, 0o111]);
    const mode = (from: string, to: string) => `diff --git a/new.sh b/new.sh\nold mode ${from}\nnew mode ${to}\n`;
    expect(await bench.patch(mode('100755', '100644'))).toMatchObject({ ok: true });
    expect(await modeOf('new.sh')).toBe(0o640);
    expect(await bench.patch(mode('100644', '120000'))).toMatchObject({ error: { code: 'patch_invalid' } });
    expect(await bench.get('new.sh')).toBe('one\n2\nthree\n');
  });

  it('E3 names as changed only what is changed, and says what to do where nothing is', async () => {
    await bench.put('a.txt', THREE);
    await bench.put('run.sh', 'x\n');
    await chmod(join(bench.sandbox, 'run.sh'), 0o755);
    const given = 'diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n';
    const result = await bench.patch(given + change('a.txt', 'two', '2'));
    expect(result).toMatchObject({ ok: true, title: 'Patched a.txt', output: { changed: [{ path: 'a.txt', how: 'changed' }] } });
    const message = expect.stringMatching(/^The patch changes nothing: .* Read them, and leave the patch out/u);
    expect(await bench.patch(given)).toMatchObject({ ok: false, error: { code: 'patch_failed', message } });
  });

  it.each([
    ['Latin-1', Buffer.from('caf\u00e9\n', 'latin1')],
    ['UTF-16', Buffer.from('\ufeffcaf\u00e9\n', 'utf16le')],
  ])('K60 says of %s that it is not text in UTF-8', async (_what, bytes) => {
    await bench.put('a.txt', bytes);
    const message = "'a.txt' is not text in UTF-8, so it cannot be patched; nothing was changed";
    expect(await bench.patch(change('a.txt', 'two', '2'))).toMatchObject({ error: { code: 'file_binary', message } });
  });

  it('E1 loses none of three patches of one file that come at once', async () => {
    await bench.put('a.txt', THREE);
    const line = (at: number, before: string) => `--- a/a.txt\n+++ b/a.txt\n@@ -${at} +${at} @@\n-${before}\n+${before.toUpperCase()}\n`;
    const results = await Promise.all(['one', 'two', 'three'].map((word, at) => bench.patch(line(at + 1, word))));
    expect(results).toMatchObject(results.map(() => ({ ok: true })));
    expect(await bench.get('a.txt')).toBe(THREE.toUpperCase());
  });

  it.each([
    ['garbage', 'just text'],
    ['another format', '*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch'],
    ['a wrong count', '--- a/a.txt\n+++ b/a.txt\n@@ -1,9 +1,1 @@\n one\n'],
    ['one file twice', change('a.txt', 'two', '2') + change('a.txt', 'two', '3')],
    ['no hunk', '--- a/a.txt\n+++ b/a.txt\n'],
  ])('K60 says that %s is no usable patch', async (_what, text) => {
    await bench.put('a.txt', THREE);
    expect(await bench.patch(text)).toMatchObject({
      ok: false,
      error: { code: 'patch_invalid', message: expect.stringMatching(/^The patch cannot be used: ./) },
    });
    expect(await bench.needsApproval('apply_patch', { patch: text })).toBe(false);
    expect(await bench.get('a.txt')).toBe(THREE);
  });

  it('K60 keeps to the jail and the rules of `file`', async () => {
    await bench.put('a.txt', THREE);
    await bench.put('bin', Buffer.from([0, 1, 2]));
    await bench.put('skills/old/SKILL.md', THREE);
    await symlink(join(bench.outside, 'secret.txt'), join(bench.sandbox, 'link'));
    const cases: readonly (readonly [string, string])[] = [
      [add('../outside/new.txt', 'x'), 'file_unavailable'],
      [add('/tmp/x', 'x'), 'file_unavailable'],
      [change('link', 'two', '2'), 'file_unavailable'],
      [add('data/x', 'x'), 'protected'],
      [change('skills/old/SKILL.md', 'two', '2'), 'use_proposal'],
      [remove('bin', 'x'), 'file_binary'],
      [add('a.txt', 'x'), 'target_exists'],
      [remove('a.txt', 'one'), 'patch_failed'],
      [change('none', 'two', '2'), 'file_unavailable'],
    ];
    for (const [text, code] of cases) {
      for (const patch of [add('new.txt', 'x') + text, text])
        expect({ patch, result: await bench.patch(patch) }).toMatchObject({ patch, result: { ok: false, error: { code } } });
    }
    expect(await readdir(bench.outside)).toEqual(['secret.txt']);
    expect(await bench.names()).not.toContain('new.txt');
    expect(await bench.get('a.txt')).toBe(THREE);
  });

  it('K60 P1 asks nobody for a new skill of several files, which is a draft, or for notes; for code it asks once', async () => {
    const skill = add('skills/new/SKILL.md', '---') + add('skills/new/references/a.md', 'x');
    expect(await bench.needsApproval('apply_patch', { patch: skill })).toBe(false);
    expect(await bench.needsApproval('apply_patch', { patch: add('note.md', 'x') + add('extensions/x/main.ts', 'x') })).toBe(true);
    expect(await bench.needsApproval('apply_patch', { patch: add('note.md', 'x') })).toBe(false);
    expect(await bench.patch(skill)).toMatchObject({ ok: true, output: { drafts: [{ skill: 'new', state: 'draft' }] } });
    expect(await bench.names()).not.toContain('skills');
    expect(await bench.get('.staging/skills/new/references/a.md')).toBe('x\n');
    expect(await bench.patch(skill)).toMatchObject({ ok: false, error: { code: 'target_exists' } });
  });
});
