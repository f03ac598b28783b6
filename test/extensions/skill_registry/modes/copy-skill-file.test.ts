import { existsSync } from 'node:fs';
import { link, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { agent, call, skillKernel, skill, type SkillKernel } from '../skill-kernel.ts';
import { SYSTEMS, systemIs, wentWithoutProc } from '../../../without-proc.ts';
import { words } from '../../../words.ts';

const copy = (from: string, to: string, skill_id = 'alpha') => call('copy_skill_file', { skill_id, path: from, to });
const BYTES = Buffer.from([0, 1, 2, 255, 254]).toString('latin1');

describe.each(SYSTEMS)('S65 copy_skill_file on a system %s', (system) => {
  let kernel: SkillKernel;
  beforeEach(async () => {
    systemIs(system);
    kernel = await skillKernel({
      ...skill('alpha'),
      'skills/alpha/templates/report.md': 'REPORT',
      'skills/alpha/references/guide.md': 'GUIDE',
      'outside.txt': 'OUTSIDE',
      'notes/there.md': 'MINE',
      'projects/tool/manifest.yaml': 'id: tool\n',
      'pith.yaml': 'skills: { sources: { replace: [sandbox/skills, sandbox/more] }, poll_seconds: 0 }\ndata_dir: state\n',
      ...agent('main', 'uses_tools: [skill_registry/copy_skill_file]'),
    });
    await writeFile(path.join(kernel.pith.sandbox, 'skills/alpha/binary.bin'), BYTES, 'latin1');
  });
  const at = (file: string) => path.join(kernel.pith.sandbox, file);
  const copies = async (...pairs: readonly (readonly [from: string, to: string])[]) => {
    const { results } = await kernel.turn('main', 'copy', {
      calls: pairs.map(([from, to]) => ({ name: 'copy_skill_file', input: { skill_id: 'alpha', path: from, to } })),
    });
    return results;
  };

  it('S65 copies a resource byte for byte into the working directory, making folders, and says so', async () => {
    const { results } = await kernel.turn(
      'main',
      'copy',
      copy('templates/report.md', 'drafts/new/report.md'),
      copy('binary.bin', 'raw.bin'),
      copy('guide.md', 'g.md'),
    );
    expect(await readFile(at('drafts/new/report.md'), 'utf8')).toBe('REPORT');
    expect(await readFile(at('raw.bin'), 'latin1')).toBe(BYTES);
    expect(await readFile(at('g.md'), 'utf8')).toBe('GUIDE'); // S45 the leading references/ may be left out
    expect(results[0]).toMatchObject({
      ok: true,
      output: 'Copied templates/report.md of alpha to drafts/new/report.md (6 bytes). It may be changed there.',
      line: 'Resource templates/report.md of alpha copied to drafts/new/report.md',
    });
    expect((await stat(at('raw.bin'))).mode & 0o111).toBe(0);
    expect((await readdir(at('drafts/new'))).sort()).toEqual(['report.md']); // nothing temporary is left
    expect(wentWithoutProc()).toBe(system === 'without /proc');
  });

  it('S65 never replaces what is there', async () => {
    await symlink(at('outside.txt'), at('linked.md'));
    const results = await copies(
      ['templates/report.md', 'notes/there.md'],
      ['templates/report.md', 'linked.md'],
      ['templates/report.md', 'notes'],
    );
    expect(results.map(({ error }) => error?.code)).toEqual(['file_exists', 'file_exists', 'file_exists']);
    expect(await readFile(at('notes/there.md'), 'utf8')).toBe('MINE');
    expect(await readFile(at('outside.txt'), 'utf8')).toBe('OUTSIDE');
  });

  const PROTECTED = words(`
    skills/alpha/templates/copy.md Skills/new/a.md extensions/new/main.ts agents/new/notes.md data/a.md state/a.md
    more/new/a.md recipes/a.md pith.yaml pith.local.yaml .env .git/hooks/post-commit projects/tool/main.ts projects/tool/deep/er.md new/SKILL.md
    new/manifest.yaml new/Agent.md new/prompt.jinja2
  `);

  it('S65 nothing becomes part of skills, extensions, agents, state or settings', async () => {
    const results = await copies(...PROTECTED.map((to) => ['templates/report.md', to] as const));
    expect(results.map(({ error }, index) => [PROTECTED[index], error?.code])).toEqual(PROTECTED.map((to) => [to, 'protected']));
    expect(PROTECTED.filter((to) => existsSync(at(to)))).toEqual(['pith.yaml']);
    expect(await readFile(at('pith.yaml'), 'utf8')).toContain('poll_seconds');
  });

  it('S65 asks the same list of places as the tool `file`: a sandbox that is itself an extension takes nothing', async () => {
    await writeFile(at('manifest.yaml'), 'id: whole\n');
    const [result] = await copies(['templates/report.md', 'drafts/report.md']);
    expect(result?.error?.code).toBe('protected');
    expect(existsSync(at('drafts'))).toBe(false);
  });

  it('S65 S44 nothing leads outside, in neither direction, and every refusal is the same', async () => {
    await symlink(path.dirname(kernel.pith.sandbox), at('away'));
    await link(at('outside.txt'), at('skills/alpha/hard.md'));
    await symlink(at('outside.txt'), at('skills/alpha/soft.md'));
    const to = await copies(
      ['templates/report.md', '../escaped.md'],
      ['templates/report.md', '/tmp/escaped.md'],
      ['templates/report.md', 'away/escaped.md'],
      ['templates/report.md', 'a\\b'],
    );
    expect(to.map(({ error }) => error?.code)).toEqual(Array(4).fill('file_unavailable'));
    const from = await copies(
      ['hard.md', 'a.md'],
      ['soft.md', 'b.md'],
      ['../../outside.txt', 'c.md'],
      ['nothing.md', 'd.md'],
      ['templates', 'e.md'],
    );
    expect(new Set(from.map(({ error }) => `${error?.code} ${error?.message}`)).size).toBe(1);
    expect((await readdir(kernel.pith.sandbox)).filter((name) => /^[a-e]\.md$/.test(name))).toEqual([]);
    expect(existsSync(path.join(path.dirname(kernel.pith.sandbox), 'escaped.md'))).toBe(false);
  });
});
