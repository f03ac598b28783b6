import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { folderTree, treeDigest } from '@pith/skill-files';
import { describe, expect, it } from 'vitest';
import { folderWith } from '../../places.ts';
import { skillSandbox, skillText } from '../skill_registry/skill-sandbox.ts';
import { installSandbox } from './install-sandbox.ts';

/** A place whose last part is bytes, each character one. */
const bytes = (folder: string, name: string): Buffer => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')]);
const SOURCE = '.claude/skills';

async function installed() {
  const box = await installSandbox({ 'from/letters/SKILL.md': skillText({ name: 'letters', body: 'One.\n' }) });
  const from = path.join(box.project, 'from/letters');
  expect((await box.run('install', from)).error).toBe('');
  return { ...box, from, skill: path.join(box.sandbox, 'skills/letters') };
}

async function trusted() {
  const box = await skillSandbox({ [`${SOURCE}/letters/SKILL.md`]: skillText({ name: 'letters' }) });
  expect(await box.run('skills trust', { arguments: { source: SOURCE } })).toMatchObject({ code: 0 });
  const state = async (trust: 'ask' | 'auto') => {
    const registry = box.registry({ config: { trust } });
    const { all } = await registry.refresh();
    await registry.close();
    return `${all[0]?.state} ${all[0]?.reason ?? ''}`.trim();
  };
  return { ...box, state, skill: path.join(box.project, SOURCE, 'letters') };
}

describe('names that are not UTF-8', () => {
  it('S83 S86 a file of such a name is a change by hand: neither update nor remove takes it away unasked', async () => {
    const box = await installed();
    const file = bytes(box.skill, 'caf\xe9.txt');
    writeFileSync(file, 'mine');
    await box.write('from/letters/SKILL.md', skillText({ name: 'letters', body: 'Two.\n' }));
    expect(await box.run('update', ['letters'], { yes: true })).toMatchObject({ code: 1 });
    expect((await box.run('remove', 'letters')).error).toContain("confirmation_needed: 'letters': It was changed by hand");
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const { text, code } = await box.run('update', ['letters'], { yes: true, force: true });
    expect([code, text]).toEqual([0, expect.stringMatching(/^ {2}removed +caf\\xe9\.txt/m)]);
    expect(existsSync(file)).toBe(false);
  });

  it('S82 a skill that holds one is not installed', async () => {
    const box = await installSandbox({ 'from/letters/SKILL.md': skillText({ name: 'letters' }) });
    writeFileSync(bytes(path.join(box.project, 'from/letters'), 'caf\xe9.txt'), 'theirs');
    const { error } = await box.install('from/letters', { yes: true });
    expect(error).toMatch(/^origin_refused: .*'caf\\xe9\.txt', a name that has a backslash, or is not UTF-8/);
    expect(Object.keys(box.lock())).toEqual([]);
  });

  it.each(['ask', 'auto'] as const)(
    'S14 one that comes into a trusted skill keeps it back (trust: %s), and the scan names it',
    async (mode) => {
      const box = await trusted();
      expect(await box.state(mode)).toBe('offered');
      writeFileSync(bytes(box.skill, 'evil\xff.sh'), '#!/bin/sh\n');
      chmodSync(bytes(box.skill, 'evil\xff.sh'), 0o755);
      expect(await box.state(mode)).toBe(`untrusted ${mode === 'ask' ? '' : 'its links '}changed since it was trusted`);
      const { text, error, code } = await box.attempt('skills trust', { arguments: { source: SOURCE } });
      expect([code, error]).toEqual([1, null]);
      expect(text).toContain('high     evil\\xff.sh:1: has a name that is not UTF-8');
    },
  );

  it('S14 whatever changes below a folder of such a name, once a person trusts that too, is seen', async () => {
    const box = await trusted();
    mkdirSync(Buffer.concat([bytes(box.skill, '\xff'), Buffer.from('/deep')]), { recursive: true });
    expect(await box.state('ask')).toContain('untrusted');
    expect(await box.attempt('skills trust', { arguments: { source: SOURCE }, answer: 'yes' })).toMatchObject({ code: 0 });
    expect(await box.state('ask')).toBe('offered');
    writeFileSync(Buffer.concat([bytes(box.skill, '\xff'), Buffer.from('/deep/run.sh')]), 'echo 1\n');
    expect(await box.state('auto')).toContain('its links changed');
  });

  it('S14 the tree has one entry for each, and a name that is U+FFFD itself stays a name', async () => {
    const folder = folderWith();
    writeFileSync(path.join(folder, '\ufffd.md'), 'plain');
    const before = await treeDigest(folder);
    writeFileSync(bytes(folder, '\xff.md'), 'odd');
    writeFileSync(bytes(folder, '\xfe.md'), 'odd');
    const tree = await folderTree(folder);
    expect(tree.files.map(({ path: name }) => name)).toEqual(['\ufffd.md']);
    expect(tree.unnamed).toEqual(['\\xfe.md', '\\xff.md']);
    expect(await treeDigest(folder)).not.toBe(before);
  });
});
