import { existsSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { bench, type Bench } from './bench.ts';

let made: Bench;
beforeEach(async () => void (made = await bench({ files: { 'skills/old/SKILL.md': SKILL('old') } })));

const SKILL = (id: string) =>
  `---\nname: ${id}\ndescription: Writes release notes. Use when asked for release notes.\n---\n\n# Notes\n\nWrite them.\n`;
const write = (id: string, text: string) => made.test.write(`.staging/skills/${id}/SKILL.md`, text);
const check = async (id: string) => {
  const result = await made.call('check_skill', { id });
  if (!result.ok) throw new Error(result.error.message);
  return result.output as { readonly ok: boolean; readonly digest: string; readonly checks: unknown };
};

describe('the tools for skills', () => {
  it('K75 P1: a new skill is staged, checked, agreed to and offered: a draft until then', async () => {
    const staged = await made.call('stage_skill', { id: 'release-notes' });
    expect(staged).toMatchObject({ ok: true, output: { files: ['.staging/skills/release-notes/SKILL.md'] } });
    await write('release-notes', SKILL('release-notes'));
    const { ok, digest } = await check('release-notes');
    expect(ok).toBe(true);
    const listed = (await made.test.command('skills list --all', { json: true })).values[0] as { id: string; state: string }[];
    expect(listed.find((one) => one.id === 'release-notes')?.state).toBe('draft');
    const question = await made.question('activate_skill', { id: 'release-notes', digest });
    expect(question).toMatchObject({ text: expect.stringContaining('+# Notes'), once: true });
    expect(await made.call('activate_skill', { id: 'release-notes', digest })).toMatchObject({ ok: true });
    expect(await made.read('skills/release-notes/SKILL.md')).toBe(SKILL('release-notes'));
    expect(existsSync(path.join(made.test.sandbox, '.staging/skills/release-notes'))).toBe(false);
  });

  it('K75 P3: what is broken does not pass, and an existing skill is left to proposals', async () => {
    await write('bad-one', '---\nname: other\n---\n');
    const { ok, digest, checks } = await check('bad-one');
    expect([ok, JSON.stringify(checks)]).toEqual([false, expect.stringContaining('.staging/skills/bad-one/SKILL.md')]);
    expect(await made.call('activate_skill', { id: 'bad-one', digest })).toMatchObject({ ok: false, error: { code: 'not_checked' } });
    expect(await made.call('stage_skill', { id: 'old' })).toMatchObject({ ok: false, error: { code: 'use_proposal' } });
    await write('old', SKILL('old').replace('Write them', 'Write others'));
    const old = await check('old');
    expect(old.ok).toBe(false);
    const again = await made.call('activate_skill', { id: 'old', digest: old.digest });
    expect(again).toMatchObject({
      ok: false,
      error: { code: 'not_checked', message: expect.stringContaining('a skill of this id has come since') },
    });
    expect(await made.read('skills/old/SKILL.md')).toBe(SKILL('old'));
  });

  it('K72 K75 nothing outside the sandbox is staged or checked by way of a link', async () => {
    await mkdir(path.join(made.test.sandbox, '.staging/skills'), { recursive: true });
    await symlink('/etc', path.join(made.test.sandbox, '.staging/skills/linked'));
    expect(await made.call('check_skill', { id: 'linked' })).toMatchObject({ ok: false, error: { code: 'not_allowed' } });
    expect(await made.call('stage_extension', { id: '../../outside' })).toMatchObject({ ok: false, error: { code: 'usage' } });
  });
});
