import { symlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { SkillsChange } from '../../../sandbox/extensions/skill_registry/contract.ts';
import { inPieces } from '@pith/skill-files';
import { findSkill } from '../../../sandbox/extensions/skill_registry/scan/names.ts';
import { systemClock } from '@pith/promises';
import { ownSkill, skillSandbox, type SkillSandbox, skillsIn, skillText } from './skill-sandbox.ts';

const skill = (name: string, more = '', body = `Body of ${name}.\n`) => skillText({ name, more, body });
const offered = (snapshot: { all: readonly { id: string; state: string; source: string }[] }) =>
  snapshot.all.filter(({ state }) => state === 'offered').map(({ id, source }) => `${source}/${id}`);
const recorded = (box: SkillSandbox) => {
  const changes: SkillsChange[] = [];
  return { changes, registry: box.registry({ onChange: (change) => void changes.push(change) }) };
};

describe('the log', () => {
  it('S16 has a line for the discovery, each change and each load: counts, milliseconds, ids; none for a scan that found nothing', async () => {
    const box = await skillSandbox({ ...ownSkill('one'), ...ownSkill('two', { more: 'default_enabled: false\n' }) });
    const lines: unknown[] = [];
    const at = (level: string) => (message: string, fields?: object) => void lines.push([`${level} ${message}`, fields]);
    const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
    let now = 0;
    const registry = box.registry({ logger, clock: { ...systemClock, now: () => (now += 3) } });
    const first = await registry.refresh();
    const ms = expect.any(Number) as number;
    const discovered = { skills: 2, offered: 1, read: 2, ms, ids: ['one', 'two'] };
    expect(lines.splice(0)).toEqual([['info skills discovered', discovered]]);
    const { sha256, bytes } = await registry.readBody(first.skills.get('one')!);
    expect(lines.splice(0)).toEqual([['info skill loaded', { id: 'one', source: 'sandbox/skills', sha256, bytes, ms: 3 }]]);
    await registry.refresh();
    expect(lines.splice(0).filter((line) => !(line as string[])[0]!.startsWith('debug'))).toEqual([]);
    for (let number = 0; number < 60; number++) await box.write(`sandbox/skills/n${number}/SKILL.md`, skill(`n${number}`));
    await registry.refresh();
    const added = expect.arrayContaining(['n0', 'and 10 more']) as string[];
    expect(lines).toContainEqual(['info skills changed', { skills: 62, offered: 61, read: 60, ms, added, changed: [], removed: [] }]);
  });
});

it('G10 says once at the start which skills have no description, and of each that comes later what is missing or was mended', async () => {
  const bare = (id: string) => ({ [`sandbox/skills/${id}/SKILL.md`]: `---\nname: ${id}\n---\nSays what it is for.\n` });
  const box = await skillSandbox({ ...bare('one'), ...bare('two'), ...ownSkill('good') });
  const lines: string[] = [];
  const quiet = () => undefined;
  const registry = box.registry({ logger: { debug: quiet, info: quiet, warn: (message) => void lines.push(message), error: quiet } });
  await registry.refresh();
  expect(lines.splice(0)).toEqual(['2 skills without a description: one, two; the first paragraph is used, see pith doctor']);
  await box.write('sandbox/skills/three/SKILL.md', bare('three')['sandbox/skills/three/SKILL.md']!);
  await box.write('sandbox/skills/good/SKILL.md', `<!-- a licence\n---\n-->\n${skill('good')}`);
  await registry.refresh();
  expect(lines.sort()).toEqual([
    "skill 'good' has a comment before the frontmatter",
    "skill 'three' has no description; its first paragraph is used",
  ]);
});

describe('the registry', () => {
  it('S6 an invalid skill hides nobody and says file, line, column and cure', async () => {
    const box = await skillSandbox({
      'sandbox/skills/bad/SKILL.md': '---\nname: bad\n---\n',
      'sandbox/skills/good/SKILL.md': skill('good'),
      'team/bad/SKILL.md': skill('bad'),
    });
    const snapshot = await box.registry({ config: { sources: ['team'] } }).refresh();
    expect(offered(snapshot)).toEqual(['team/bad', 'sandbox/skills/good']);
    expect(snapshot.skills.get('bad')?.source).toBe('team');
    expect(snapshot.all.find(({ state }) => state === 'invalid')).toMatchObject({
      id: 'bad',
      source: 'sandbox/skills',
      reason: 'has no description (line 1)',
      diagnostics: [
        {
          severity: 'error',
          code: 'description_missing',
          file: `${box.sandbox}/skills/bad/SKILL.md`,
          line: 1,
          column: 1,
          cure: expect.stringContaining('description:'),
        },
      ],
    });
  });

  it('S6 the last good version of a skill that becomes invalid stays in use, its old text too', async () => {
    const box = await skillSandbox({ 'sandbox/skills/demo/SKILL.md': skillText({ description: 'Good one.', body: 'Good body.\n' }) });
    const { registry, changes } = recorded(box);
    await registry.studyBody((await registry.refresh()).skills.get('demo')!); // as it is sent to the ranker
    await box.write('sandbox/skills/demo/SKILL.md', '---\nname: demo\n---\n');
    const broken = (await registry.refresh()).skills.get('demo')!;
    expect(broken).toMatchObject({
      state: 'offered',
      description: 'Good one.',
      diagnostics: [
        { severity: 'warning', code: 'last_good_used' },
        { severity: 'error', code: 'description_missing' },
      ],
    });
    expect(await registry.readBody(broken)).toMatchObject({
      body: 'Good body.\n',
      stale: 'the file is broken now; this is the last good version',
    });
    expect(changes).toEqual([{ added: [], changed: ['demo'], removed: [] }]);

    await box.write('sandbox/skills/demo/SKILL.md', '---\n');
    expect((await registry.refresh()).skills.get('demo')?.description).toBe('Good one.');
    expect((await registry.readBody(broken)).body).toBe('Good body.\n');

    await box.write('sandbox/skills/demo/SKILL.md', skillText({ description: 'Better.', body: 'New.\n' }));
    const mended = (await registry.refresh()).skills.get('demo')!;
    expect(mended).toMatchObject({ state: 'offered', description: 'Better.', diagnostics: [] });
    expect(await registry.readBody(mended)).not.toHaveProperty('stale');
  });

  it('S51 G12 the body of a removed skill stays within reach; one that nobody read may have been removed', async () => {
    const box = await skillSandbox({ 'sandbox/skills/demo/SKILL.md': skill('demo') });
    const { registry, changes } = recorded(box);
    const before = (await registry.refresh()).skills.get('demo')!;
    await registry.readBody(before);
    await box.remove('sandbox/skills/demo');
    expect((await registry.refresh()).skills.size).toBe(0);
    expect(changes).toEqual([{ added: [], changed: [], removed: ['demo'] }]);
    expect(registry.lastGood('demo')).toMatchObject({ skill: { id: 'demo' }, body: { body: 'Body of demo.\n' } });
    expect(await registry.readBody(before)).toMatchObject({ body: 'Body of demo.\n', stale: expect.stringContaining('it is gone') });
    expect(registry.lastGood('never')).toBeNull();
    await box.write('sandbox/skills/unread/SKILL.md', skill('unread'));
    const unread = (await registry.refresh()).skills.get('unread')!;
    await box.remove('sandbox/skills/unread');
    await expect(registry.readBody(unread)).rejects.toThrow("skill 'unread' was not found; it may have been removed");
  });

  it('S51 a change is read live, with its digest', async () => {
    const box = await skillSandbox({ 'sandbox/skills/demo/SKILL.md': skill('demo') });
    const registry = box.registry();
    const demo = (await registry.refresh()).skills.get('demo')!;
    const first = await registry.readBody(demo);
    await box.write('sandbox/skills/demo/SKILL.md', skill('demo', '', 'Other {{ x }} $&.\r\n'));
    const second = await registry.readBody(demo);
    expect(second.body).toBe('Other {{ x }} $&.\r\n');
    expect(second.sha256).not.toBe(first.sha256);
    expect(second.bytes).toBe(Buffer.byteLength(skill('demo', '', 'Other {{ x }} $&.\r\n')));
  });

  it('S12 the body of a skill whose folder became a link out is not read', async () => {
    const box = await skillSandbox({ ...ownSkill('demo'), 'outside/demo/SKILL.md': skill('demo', '', 'Outside.\n') });
    const registry = box.registry();
    const demo = (await registry.refresh()).skills.get('demo')!;
    await registry.studyBody(demo);
    await box.remove('sandbox/skills/demo');
    await symlink('../../outside/demo', `${box.sandbox}/skills/demo`);
    expect(await registry.readBody(demo)).toMatchObject({ body: 'Body.\n', stale: expect.stringContaining('leads out') });
    const fresh = box.registry({ dataDirectory: `${box.sandbox}/data/fresh` });
    await expect(fresh.readBody(demo)).rejects.toMatchObject({ code: 'skill_not_found', message: expect.stringContaining('leads out') });
  });

  it('S13 the higher source wins; the same bytes bring no warning, others do, and both stay addressable', async () => {
    const box = await skillSandbox({
      ...skillsIn('team', 'same', 'differs'),
      ...skillsIn('sandbox/skills', 'same'),
      ...ownSkill('differs', { body: 'High\n' }),
    });
    const registry = box.registry({ config: { sources: ['team'] } });
    const snapshot = await registry.refresh();
    expect(
      snapshot.all.map(({ source, id, state, diagnostics }) => [`${source}/${id}`, state, diagnostics.map(({ code }) => code)]),
    ).toEqual([
      ['sandbox/skills/differs', 'offered', ['shadowed_differs']],
      ['team/differs', 'shadowed', ['shadowed_differs']],
      ['sandbox/skills/same', 'offered', []],
      ['team/same', 'shadowed', []],
    ]);
    const low = findSkill(snapshot, 'team/differs')!;
    expect((await registry.readBody(low)).body).toBe('Body.\n');
    expect(low.reason).toBe('shadowed by the one in sandbox/skills');
    expect(findSkill(snapshot, 'sandbox/skills/differs')?.state).toBe('offered');
    expect(findSkill(snapshot, 'differs')?.source).toBe('sandbox/skills');
    await box.remove('sandbox/skills/differs');
    expect((await registry.refresh()).skills.get('differs')).toMatchObject({ source: 'team', state: 'offered', diagnostics: [] });
  });

  it('S3 a unique display name is an alias, a shared one or another id is not', async () => {
    const box = await skillSandbox({
      'sandbox/skills/a/SKILL.md': skill('Nice Name'),
      'sandbox/skills/b/SKILL.md': skill('Shared'),
      'sandbox/skills/c/SKILL.md': skill('Shared'),
      'sandbox/skills/d/SKILL.md': skill('a'),
    });
    const snapshot = await box.registry().refresh();
    expect([...snapshot.aliases]).toEqual([['Nice Name', 'a']]);
    expect(findSkill(snapshot, 'Nice Name')?.id).toBe('a');
    expect(findSkill(snapshot, 'a')?.id).toBe('a');
    expect(findSkill(snapshot, 'Shared')).toBeUndefined();
  });

  it('S14 what an untrusted source has is listed and not offered, and hides nothing', async () => {
    const { buildSnapshot } = await import('../../../sandbox/extensions/skill_registry/scan/snapshot.ts');
    const { scanSource } = await import('@pith/skill-files');
    const box = await skillSandbox({ 'low/demo/SKILL.md': skill('demo'), 'high/demo/SKILL.md': skill('demo') });
    const scans = await Promise.all(
      ['low', 'high'].map(async (label) => {
        const source = { label, directory: `${box.project}/${label}`, trusted: label === 'low', configured: false };
        return { source, scan: await scanSource(source, null, { trustedLinks: [], now: () => 0, goodBody: () => null }) };
      }),
    );
    const pieces = buildSnapshot(scans, {}, { generation: 0, skills: new Map(), all: [], aliases: new Map(), diagnostics: [] });
    const snapshot = await inPieces(pieces);
    expect(snapshot.all.map(({ source, state }) => [source, state])).toEqual([
      ['high', 'untrusted'],
      ['low', 'offered'],
    ]);
    expect(snapshot.skills.get('demo')?.source).toBe('low');
  });

  it('S15 filters come before precedence, so a disabled winner does not hide the loser', async () => {
    const box = await skillSandbox({
      ...skillsIn('team', 'a'),
      ...ownSkill('a', { more: 'default_enabled: false\n' }),
      ...ownSkill('b'),
      ...ownSkill('c', { name: 'Cee' }),
    });
    const under = async (config: object) => offered(await box.registry({ config: { sources: ['team'], ...config } }).refresh());
    expect(await under({})).toEqual(['team/a', 'sandbox/skills/b', 'sandbox/skills/c']);
    expect(await under({ allowed: ['a'] })).toEqual(['sandbox/skills/a']);
    expect(await under({ allowed: ['c', 'b', 'Cee'] })).toEqual(['sandbox/skills/b', 'sandbox/skills/c']);
    expect(await under({ allowed: ['*', 'a'] })).toEqual(['sandbox/skills/a', 'sandbox/skills/b', 'sandbox/skills/c']);
    expect(await under({ disabled: ['b', 'Cee'] })).toEqual(['team/a']);
    expect(await under({ enable: ['a'] })).toEqual(['sandbox/skills/a', 'sandbox/skills/b', 'sandbox/skills/c']);
    expect(await under({ enabled: false })).toEqual([]);
  });

  it('S15 says why a skill is off, and names the nearest id for one that no source has', async () => {
    const box = await skillSandbox({ ...ownSkill('writing'), ...ownSkill('quiet', { more: 'default_enabled: false\n' }) });
    const config = { allowed: ['wriitng', '*'], disabled: ['wriitng', 'absent'], enable: ['qiuet'] };
    const snapshot = await box.registry({ config }).refresh();
    expect(snapshot.skills.get('writing')).toMatchObject({ state: 'disabled', reason: 'it is listed under skills.disabled' });
    expect(snapshot.skills.get('quiet')).toMatchObject({ state: 'disabled', reason: expect.stringContaining('default_enabled: false') });
    expect(snapshot.diagnostics).toMatchObject([
      {
        severity: 'warning',
        code: 'setting_unknown_skill',
        message: expect.stringContaining("skills.allowed names 'wriitng', which no source has (did you mean 'writing'"),
      },
      { message: "skills.enable names 'qiuet', which no source has (did you mean 'quiet'?)" },
      { message: "skills.disabled names 'wriitng', which no source has; it counts as 'writing'" },
      { message: "skills.disabled names 'absent', which no source has" },
    ]);
  });

  it.each([
    [['pdf-2'], [], String.raw`no source has \(did you mean 'pdf-3'\?\)`],
    [['ab'], ['abc', 'abd'], "no source has; it counts as 'abc' and 'abd'"],
    [['Wriiting', 'sandbox/skills/writin'], ['writing'], "no source has; it counts as 'writing'"],
    [['pdf-3', 'w?iting'], ['pdf-3', 'writing'], '^'],
  ])('S15 skills.disabled: %j switches off %j and says so', async (disabled, off, said) => {
    const ids = ['abc', 'abd', 'pdf-3', 'writing'];
    const box = await skillSandbox(skillsIn('sandbox/skills', ...ids));
    const { skills, diagnostics } = await box.registry({ config: { disabled } }).refresh();
    expect(ids.filter((id) => skills.get(id)?.state === 'disabled')).toEqual(off);
    expect(diagnostics[0]?.message ?? '').toMatch(new RegExp(`${said}$`, 'u'));
  });

  it('S5 __proto__ and constructor are ordinary ids', async () => {
    const box = await skillSandbox(skillsIn('sandbox/skills', '__proto__', 'constructor'));
    const first = box.registry();
    expect(offered(await first.refresh())).toEqual(['sandbox/skills/__proto__', 'sandbox/skills/constructor']);
    await first.close();
    expect(offered(await box.registry().refresh())).toEqual(['sandbox/skills/__proto__', 'sandbox/skills/constructor']);
  });

  it('S22 swaps once and tells what was added, changed and removed', async () => {
    const box = await skillSandbox(skillsIn('sandbox/skills', 'a', 'b', 'c'));
    const { registry, changes } = recorded(box);
    const first = await registry.refresh();
    expect(changes).toEqual([]);
    await box.write('sandbox/skills/d/SKILL.md', skill('d'));
    await box.write('sandbox/skills/b/SKILL.md', skill('b', '', 'More words.\n'));
    await box.remove('sandbox/skills/c');
    const second = await registry.refresh();
    expect(changes).toEqual([{ added: ['d'], changed: ['b'], removed: ['c'] }]);
    expect([...second.skills.keys()]).toEqual(['a', 'b', 'd']);
    expect([...first.skills.keys()]).toEqual(['a', 'b', 'c']);
    expect(registry.current()).toBe(second);
  });

  it('S22 scans before a turn only when the last scan is older', async () => {
    const box = await skillSandbox();
    let now = 1_000_000;
    const registry = box.registry({ clock: { ...systemClock, now: () => now } });
    const first = await registry.refreshIfOlderThan(250);
    await box.write('sandbox/skills/a/SKILL.md', skill('a'));
    now += 250;
    expect(await registry.refreshIfOlderThan(250)).toBe(first);
    now += 1;
    expect([...(await registry.refreshIfOlderThan(250)).skills.keys()]).toEqual(['a']);
    now -= 5000;
    await box.write('sandbox/skills/b/SKILL.md', skill('b'));
    expect([...(await registry.refreshIfOlderThan(250)).skills.keys()], 'a clock set back does not stop it').toEqual(['a', 'b']);
  });

  it('W32 a listing shows all that is there now; where a scan is long, it is spared until the watch hints at a change', async () => {
    let [now, step, isHinted] = [0, 0, false];
    const clock = { ...systemClock, now: () => (now += step) };
    const box = await skillSandbox(ownSkill('a'));
    const registry = box.registry({ clock });
    const listedWith = async (id: string) => {
      await box.write(`sandbox/skills/${id}/SKILL.md`, skill(id));
      return [...(await registry.listing()).skills.keys()].join('');
    };
    expect(await listedWith('b')).toBe('ab');
    step = 50;
    expect(await listedWith('c')).toBe('abc');
    expect(await listedWith('d'), 'nothing watches').toBe('abcd');
    Object.assign(registry, { watching: { takeHint: async () => isHinted } });
    expect(await listedWith('e')).toBe('abcd');
    isHinted = true;
    expect(await listedWith('f')).toBe('abcdef');
    isHinted = false;
    expect(await listedWith('g')).toBe('abcdef');
    registry.outdated();
    expect(await listedWith('h')).toBe('abcdefgh');
    now += 1e6;
    expect(await listedWith('i')).toBe('abcdefghi');
  });

  it('S23 at most one scan is in flight, and a call during one sees what was written before it', async () => {
    const box = await skillSandbox({ 'sandbox/skills/a/SKILL.md': skill('a') });
    const registry = box.registry();
    const running = registry.refresh();
    await box.write('sandbox/skills/b/SKILL.md', skill('b'));
    const calls = await Promise.all([registry.refresh(), registry.refresh(), registry.refresh()]);
    await running;
    for (const snapshot of calls) expect([...snapshot.skills.keys()]).toEqual(['a', 'b']);
    expect(registry.current().generation).toBeLessThanOrEqual(2);
  });
});
