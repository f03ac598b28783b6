import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { loadSnapshot } from '../../../sandbox/extensions/skill_registry/scan/snapshot-file.ts';
import { systemClock } from '@pith/promises';
import { skillSandbox, skillText } from './skill-sandbox.ts';

/** A time so far from the files' that all of them count as settled. */
const settled = { ...systemClock, now: () => 0 };
const rich = skillText({
  name: 'Display Name',
  description: '"Does: it"',
  more: 'version: 1.0.0\ntags: [a]\nrequires: [b]\nallowed-tools: Read Write\nmetadata:\n  __proto__: x\n  level: 1.0\nhomepage: y\ndefault_enabled: false\nbrief_description: Short.\n',
});

describe('the persisted index', () => {
  it('S21 brings back exactly what was known, and reads no file that is unchanged', async () => {
    const box = await skillSandbox({
      'sandbox/skills/a/SKILL.md': rich,
      'sandbox/skills/g/b/skill.md': skillText({ name: 'b' }),
      'sandbox/skills/bad/SKILL.md': 'x',
      'sandbox/skills/notes/x.txt': 'x',
    });
    const first = box.registry({ clock: settled });
    const before = await first.refresh();
    await first.close();
    const { scans } = await loadSnapshot(path.join(box.sandbox, 'data/extensions/skill_registry'), first.sources);
    const loaded = scans.get(`${box.sandbox}/skills`)!;
    const second = box.registry({ clock: settled });
    const after = await second.refresh();
    expect(JSON.parse(JSON.stringify(after.all))).toEqual(JSON.parse(JSON.stringify(before.all)));
    expect(after.diagnostics).toEqual(before.diagnostics);
    const { scanSource } = await import('../../../sandbox/extensions/skill_registry/scan/scan.ts');
    expect(await scanSource(second.sources.at(-1)!, loaded, { trustedLinks: [], now: () => 0, goodBody: () => null })).toBe(loaded);
  });

  it('S21 what changed while nobody ran is seen by the next start', async () => {
    const box = await skillSandbox({
      'sandbox/skills/a/SKILL.md': skillText({ name: 'a' }),
      'sandbox/skills/b/SKILL.md': skillText({ name: 'b' }),
    });
    const first = box.registry();
    await first.refresh();
    await first.close();
    await box.write('sandbox/skills/a/SKILL.md', skillText({ name: 'a', description: 'Changed.' }));
    await box.write('sandbox/skills/c/SKILL.md', skillText({ name: 'c' }));
    await box.remove('sandbox/skills/b');
    const snapshot = await box.registry().refresh();
    expect([...snapshot.skills.values()].map(({ id, description }) => [id, description])).toEqual([
      ['a', 'Changed.'],
      ['c', 'Does a thing. Use it for things.'],
    ]);
  });

  it('S15 other settings over the same index take effect', async () => {
    const box = await skillSandbox({ 'sandbox/skills/a/SKILL.md': skillText({ name: 'a' }), 'team/t/SKILL.md': skillText({ name: 't' }) });
    const first = box.registry();
    await first.refresh();
    await first.close();
    const snapshot = await box.registry({ config: { disabled: ['a'], sources: ['team'] } }).refresh();
    expect([...snapshot.skills.values()].map(({ id, state }) => [id, state])).toEqual([
      ['a', 'disabled'],
      ['t', 'offered'],
    ]);
  });

  for (const [title, damage] of [
    ['cut short', (text: string) => text.slice(0, text.length / 2)],
    ['empty', () => ''],
    ['of another shape', (text: string) => text.replace(/\n[^]*/, '\n7\n')],
  ] as const) {
    it(`S21 an index that is ${title} is rebuilt, with a line`, async () => {
      const box = await skillSandbox({ 'sandbox/skills/a/SKILL.md': skillText({ name: 'a' }) });
      const first = box.registry({ clock: settled });
      await first.refresh();
      await first.close();
      const file = path.join(box.sandbox, 'data/extensions/skill_registry/index');
      const text = await readFile(file, 'utf8');
      await writeFile(file, damage(text));
      const second = box.registry({ clock: settled });
      expect([...(await second.refresh()).skills.keys()]).toEqual(['a']);
      expect(box.log.filter((line) => line.startsWith('warn'))).toEqual([expect.stringContaining('is damaged and is rebuilt')]);
      await second.close();
      expect(await readFile(file, 'utf8')).toBe(text);
    });
  }

  it('S21 an index of another format is rebuilt without a word', async () => {
    const box = await skillSandbox({
      'sandbox/skills/a/SKILL.md': skillText({ name: 'a' }),
      'sandbox/data/extensions/skill_registry/index': '[0,[]]',
    });
    expect([...(await box.registry().refresh()).skills.keys()]).toEqual(['a']);
    expect(box.log.filter((line) => line.startsWith('warn'))).toEqual([]);
  });

  it('S21 is written whole and leaves nothing beside it', async () => {
    const box = await skillSandbox({ 'sandbox/skills/a/SKILL.md': skillText({ name: 'a' }) });
    const registry = box.registry();
    await registry.refresh();
    await Promise.all([registry.close(), registry.close()]);
    expect(await readdir(path.join(box.sandbox, 'data/extensions/skill_registry'))).toEqual(['index']);
  });

  it('S21 says once when it cannot be written, and works on', async () => {
    const box = await skillSandbox({ 'sandbox/skills/a/SKILL.md': skillText({ name: 'a' }), 'sandbox/data': 'a file' });
    const registry = box.registry();
    await registry.refresh();
    await registry.close();
    await box.write('sandbox/skills/b/SKILL.md', skillText({ name: 'b' }));
    expect((await registry.refresh()).skills.size).toBe(2);
    await registry.close();
    expect(box.log.filter((line) => line.includes('cannot be written'))).toHaveLength(1);
    expect(existsSync(path.join(box.sandbox, 'data/extensions/skill_registry'))).toBe(false);
  });

  it('S21 an unchanged start parses nothing, not even what needs YAML', async () => {
    const box = await skillSandbox({ 'sandbox/skills/a/SKILL.md': skillText({ name: 'a', description: '>-\n  folded\n  text' }) });
    const first = box.registry({ clock: settled });
    expect((await first.refresh()).skills.get('a')?.description).toBe('folded text');
    await first.close();
    vi.resetModules();
    vi.doMock('yaml', () => {
      throw new Error('yaml was imported');
    });
    const { SkillRegistry } = await import('../../../sandbox/extensions/skill_registry/registry.ts');
    await mkdir(path.join(box.sandbox, 'data'), { recursive: true });
    const again = new SkillRegistry({
      sandbox: box.sandbox,
      project: box.project,
      dataDirectory: path.join(box.sandbox, 'data/extensions/skill_registry'),
      config: {},
      clock: settled,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    });
    expect((await again.refresh()).skills.get('a')?.description).toBe('folded text');
    vi.doUnmock('yaml');
  });
});
