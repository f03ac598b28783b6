import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { scriptedModel } from 'pith/testing';
import { scopeOf, findReadable } from '../../../sandbox/extensions/skill_registry/catalog/scope.ts';
import { findSkill } from '../../../sandbox/extensions/skill_registry/scan/names.ts';
import { openTrustFile, trustSandbox } from '../../../core/trust/index.ts';
import { folderWith, kernelOf } from '../../places.ts';
import { ownSkill, skillSandbox, skillsIn, skillText } from './skill-sandbox.ts';

const COMPOSED = 'café'.normalize('NFC');
const DECOMPOSED = 'café'.normalize('NFD');

describe('precedence, names and filters', () => {
  it('S10 S14 the user’s folders are looked into and trusted, the later of the list wins', async () => {
    const box = await skillSandbox({
      ...skillsIn('home/.pith/skills', 'a'),
      ...skillsIn('home/.claude/skills', 'a'),
      ...skillsIn('.cursor/skills', 'b'),
      ...skillsIn('.agents/skills', 'b'),
    });
    const { skills } = await box.registry({ home: path.join(box.project, 'home') }).refresh();
    expect(skills.get('a')).toMatchObject({ source: '~/.claude/skills', state: 'offered' });
    expect(skills.get('b')).toMatchObject({ source: '.agents/skills', state: 'untrusted' });
  });

  it('S12 a default source that is a link out of the project is refused; two that are one folder count once', async () => {
    const box = await skillSandbox({ '.agents/skills/a/SKILL.md': skillText({ name: 'a' }) });
    const outside = folderWith(skillsIn('skills', 'x'));
    for (const [name, target] of [
      ['.claude', '../.agents/skills'],
      ['.codex', path.join(outside, 'skills')],
    ] as const) {
      await mkdir(path.join(box.project, name));
      await symlink(target, path.join(box.project, name, 'skills'));
    }
    const { all, diagnostics } = await box.registry().refresh();
    expect(all.map(({ id, source }) => [id, source])).toEqual([['a', '.agents/skills']]);
    expect(diagnostics).toMatchObject([
      { severity: 'warning', code: 'link_refused', file: `${box.project}/.codex/skills` },
      {
        severity: 'info',
        code: 'source_twice',
        message: expect.stringContaining("'.claude/skills' is the same folder as '.agents/skills'"),
      },
    ]);
    const named = await box.registry({ config: { trusted_links: [path.join(outside, 'skills')] } }).refresh();
    expect(named.skills.get('x')?.state).toBe('untrusted');
  });

  it('S13 skills of plugins carry the name of their plugin, so that several may have a start', async () => {
    const start = (text: string) => skillText({ name: 'start', body: `${text}\n` });
    const box = await skillSandbox({
      'sandbox/skills/start/SKILL.md': start('own'),
      'sandbox/skills/one/.claude-plugin/plugin.json': '{ "name": "first" }',
      'sandbox/skills/one/skills/start/SKILL.md': start('first'),
      'sandbox/skills/two/.codex-plugin/plugin.json': 'no JSON',
      'sandbox/skills/two/skills/start/SKILL.md': start('two'),
      'plugins/three/.cursor-plugin/plugin.json': JSON.stringify({ name: '../third\n' }),
      'plugins/three/skills/start/SKILL.md': start('three'),
      'plain/skills/plain/SKILL.md': skillText({ name: 'plain' }),
    });
    const registry = box.registry({ config: { sources: ['plugins/three/skills', 'plain/skills'] } });
    const snapshot = await registry.refresh();
    expect([...snapshot.skills.values()].map(({ id, state, diagnostics }) => [id, state, diagnostics])).toEqual(
      ['first:start', 'plain', 'start', 'three:start', 'two:start'].map((id) => [id, 'offered', []]),
    );
    expect((await registry.readBody(findSkill(snapshot, 'sandbox/skills/first:start')!)).body).toBe('first\n');
    const narrowed = scopeOf(snapshot, { keys: { skills: { allow: ['t*:start'] } }, usesSkills: [] });
    expect([...narrowed.readable.keys()].sort()).toEqual(['three:start', 'two:start']);
    // A plugin that is only declared later gives its name to the skills that are known.
    await box.write('plain/.claude-plugin/plugin.json', '{ "name": "late" }');
    await box.remove('sandbox/skills/one/.claude-plugin');
    const next = await box.registry({ config: { sources: ['plain/skills'] } }).refresh();
    expect(next.skills.has('late:plain')).toBe(true);
    expect([...(await registry.refresh()).skills.keys()]).not.toContain('first:start');
  });

  it('S13 of two copies of one plugin each is named by its path, as the cure says', async () => {
    const files = Object.fromEntries(
      ['a', 'b'].flatMap((copy) => [
        [`sandbox/skills/${copy}/acme/.claude-plugin/plugin.json`, '{ "name": "acme" }'],
        [`sandbox/skills/${copy}/acme/skills/start/SKILL.md`, skillText({ name: 'start', body: `${copy}\n` })],
      ]),
    ) as Record<string, string>;
    const registry = (await skillSandbox(files)).registry();
    const snapshot = await registry.refresh();
    const { diagnostics } = snapshot.skills.get('acme:start')!;
    const [, named = ''] = /name '([^']+)'/.exec(diagnostics[0]?.cure ?? '') ?? [];
    expect(named).toBe('sandbox/skills/b/acme/skills/start');
    expect((await registry.readBody(findSkill(snapshot, named)!)).body).toBe('b\n');
  });

  it('S13 a name that only plugins have says by which id it is listed', async () => {
    const box = await skillSandbox({
      'sandbox/skills/one/.claude-plugin/plugin.json': '{ "name": "first" }',
      'sandbox/skills/one/skills/start/SKILL.md': skillText({ name: 'Begin' }),
      'sandbox/skills/two/.claude-plugin/plugin.json': '{ "name": "second" }',
      'sandbox/skills/two/skills/start/SKILL.md': skillText({ name: 'Begin' }),
    });
    const { error } = await box.attempt('skills show', { arguments: { id: 'start' } });
    expect(error?.message).toContain("it belongs to a plugin, and is listed as 'first:start'");
    expect(error).toMatchObject({ cure: "name 'first:start' or 'second:start'" });
  });

  it('S13 one id in one form: a decomposed folder is found by composed text, and the other way round', async () => {
    const box = await skillSandbox({ [`sandbox/skills/${DECOMPOSED}/SKILL.md`]: skillText({ name: COMPOSED }) });
    for (const config of [{}, { allowed: [DECOMPOSED] }, { allowed: [COMPOSED] }]) {
      const registry = box.registry({ config });
      const snapshot = await registry.refresh();
      expect([...snapshot.skills.values()].map(({ id, state }) => [id, state])).toEqual([[COMPOSED, 'offered']]);
      for (const name of [COMPOSED, DECOMPOSED]) {
        expect(findSkill(snapshot, name)?.id).toBe(COMPOSED);
        const scope = scopeOf(snapshot, { keys: { skills: { allow: [name] } }, usesSkills: [] });
        expect(findReadable(snapshot, scope, name)?.id).toBe(COMPOSED);
      }
      expect((await registry.readBody(findSkill(snapshot, COMPOSED)!)).body).toBe('Body.\n');
      await registry.close();
    }
    expect((await box.registry({ config: { disabled: [DECOMPOSED] } }).refresh()).skills.get(COMPOSED)?.state).toBe('disabled');
  });

  it('S13 two folders of one id in one source: the first wins, and each is named by its path', async () => {
    const box = await skillSandbox({
      'sandbox/skills/one/twin/SKILL.md': skillText({ name: 'twin' }),
      'sandbox/skills/two/twin/SKILL.md': skillText({ name: 'twin', body: 'Other.\n' }),
    });
    const snapshot = await box.registry().refresh();
    expect(snapshot.all.map(({ directory, state, reason }) => [directory.slice(box.sandbox.length), state, reason])).toEqual([
      ['/skills/one/twin', 'offered', null],
      ['/skills/two/twin', 'shadowed', 'shadowed by the one in sandbox/skills/one/twin'],
    ]);
    expect(findSkill(snapshot, 'sandbox/skills/two/twin')?.directory).toBe(`${box.sandbox}/skills/two/twin`);
    expect(findSkill(snapshot, 'sandbox/skills/twin')?.directory).toBe(`${box.sandbox}/skills/one/twin`);
    const shown = (skills: object) => scopeOf(snapshot, { keys: { skills }, usesSkills: [] }).catalog.length;
    expect([shown({ deny: ['sandbox/skills/one/twin'] }), shown({ allow: ['sandbox/skills/two/twin'] })]).toEqual([0, 0]);
    const without = await box.registry({ config: { disabled: ['sandbox/skills/one/twin'] } }).refresh();
    expect([without.diagnostics, ...without.all.map(({ state }) => state)]).toEqual([[], 'disabled', 'offered']);
  });

  it('S13 S15 lists of the settings and of agents take source/id', async () => {
    const box = await skillSandbox({ ...skillsIn('team', 'a'), ...ownSkill('a') });
    const under = async (config: object) =>
      (await box.registry({ config: { sources: ['team'], ...config } }).refresh()).all.map(({ source, state }) => `${source} ${state}`);
    expect(await under({ disabled: ['sandbox/skills/a'] })).toEqual(['sandbox/skills disabled', 'team offered']);
    expect(await under({ allowed: ['team/a'] })).toEqual(['sandbox/skills disabled', 'team offered']);
    const snapshot = await box.registry({ config: { sources: ['team'] } }).refresh();
    const scope = scopeOf(snapshot, { keys: {}, usesSkills: [] });
    expect(findReadable(snapshot, scope, 'team/a')?.source).toBe('team');
    const without = scopeOf(snapshot, { keys: { skills: { deny: ['team/*'] } }, usesSkills: [] });
    expect([findReadable(snapshot, without, 'team/a'), findReadable(snapshot, without, 'a')?.source]).toEqual([
      undefined,
      'sandbox/skills',
    ]);
  });

  it('S3 B2 lists match ids only: nobody enters by the name that it gives itself', async () => {
    const box = await skillSandbox({
      ...ownSkill('code-review'),
      ...ownSkill('evil', { name: 'code-review', more: 'default_enabled: false\n' }),
      ...ownSkill('hidden', { name: 'code-review', more: 'disable-model-invocation: true\n' }),
    });
    const offered = async (config: object) => {
      const { skills } = await box.registry({ config }).refresh();
      return [...skills.values()].filter(({ state }) => state === 'offered').map(({ id }) => id);
    };
    expect(await offered({ allowed: ['code-review'] })).toEqual(['code-review']);
    expect(await offered({ allowed: ['code-*'] })).toEqual(['code-review']);
    expect(await offered({ allowed: ['*', 'code-review'], enable: ['code-review'] })).toEqual(['code-review']);
    const snapshot = await box.registry({ config: { enable: ['evil', 'hidden'] } }).refresh();
    const scope = (skills: object) => scopeOf(snapshot, { keys: { skills }, usesSkills: [] }).catalog.map(({ id }) => id);
    expect(scope({})).toEqual(['code-review', 'evil', 'hidden']);
    expect(scope({ allow: ['code-review'] })).toEqual(['code-review']);
    expect(scope({ allow: ['code-*'], pinned: ['code-review'], scope: 'declared' })).toEqual(['code-review']);
  });

  it.each([
    ['default_enabled: false', { enable: ['quiet'] }, 'write into pith.yaml  skills: { enable: [quiet] }'],
    ['disable-model-invocation: true', { allowed: ['*', 'quiet'] }, 'disable-model-invocation: true'],
  ])(
    'S15 a skill that says %s is off until the settings have %j, and the reason is what to paste, or that it says so',
    async (more, config, reason) => {
      const box = await skillSandbox({ ...ownSkill('quiet', { more: `${more}\n` }), ...ownSkill('other') });
      const under = async (given: object) => (await box.registry({ config: given }).refresh()).skills;
      expect((await under({})).get('quiet')).toMatchObject({ state: 'disabled', reason: expect.stringContaining(reason) });
      expect([...(await under(config)).values()].map(({ state }) => state)).toEqual(['offered', 'offered']);
    },
  );

  it('S3 S14 a name in a source that nobody trusts takes no name from a skill that is offered', async () => {
    const box = await skillSandbox({
      'sandbox/skills/letters/SKILL.md': skillText({ name: 'Letter Writing' }),
      '.claude/skills/evil/SKILL.md': skillText({ name: 'Letter Writing' }),
    });
    expect(findSkill(await box.registry().refresh(), 'Letter Writing')?.id).toBe('letters');
  });

  it('S15 S50 a bound skill of a source that nobody trusts counts as unknown, with the reason and the cure', async () => {
    const box = await skillSandbox({
      ...skillsIn('.claude/skills', 'letters'),
      'sandbox/agents/main/manifest.yaml': 'id: main\nagent: { uses_skills: [letters], uses_tools: [skill_registry] }\n',
    });
    const home = folderWith({});
    trustSandbox(openTrustFile(home), box.sandbox);
    const flags = { default_agent: 'main' };
    const test = await kernelOf({ sandbox: box.sandbox, home, accepts: false, model: scriptedModel([]), flags });
    const { reason, error } = await test.run('hello');
    expect(reason).toBe('error');
    expect(error?.message).toContain("skill 'letters' is untrusted: its source .claude/skills is not trusted");
    expect((await test.kernel.agents.list()).find(({ id }) => id === 'main')).toMatchObject({ state: 'failed' });
  });
});
