import { describe, expect, it } from 'vitest';
import { DEFAULT_SOURCES, resolveSources } from '../../../sandbox/extensions/skill_registry/scan/sources.ts';
import { skillSandbox, skillText } from './skill-sandbox.ts';
import { words } from '../../words.ts';

const places = { sandbox: '/project/sandbox', project: '/project', home: '/home/me', bundled: '/pith/sandbox/skills' };
const plain = { ...places, home: null };
const directories = (config: Parameters<typeof resolveSources>[1], where = places) =>
  resolveSources(where, config).map(({ directory }) => directory);

const PROJECT = ['.cursor/skills', '.codex/skills', '.agent/skills', '.kodelet/skills', '.claude/skills', '.agents/skills'];
const locations = (label: string): string =>
  label === 'bundled' ? '/pith/sandbox/skills' : label.startsWith('~') ? `/home/me${label.slice(1)}` : `/project/${label}`;

describe('sources', () => {
  it('S10 the whole list is data in one place, lowest precedence first', () => {
    expect(DEFAULT_SOURCES.map(({ label }) => label)).toEqual(
      words(`
      bundled ~/.pith/skills ~/.agents/skills ~/.claude/skills ~/.cursor/skills ~/.codex/skills ~/.openclaw/skills
      ~/.kodelet/skills ~/.agent/skills ~/.pickle-bot/skills .cursor/skills .codex/skills .agent/skills .kodelet/skills
      .claude/skills .agents/skills skills sandbox/skills
    `),
    );
    expect(DEFAULT_SOURCES.filter(({ trusted }) => !trusted).every(({ base }) => base === 'project')).toBe(true);
  });

  it('S10 each stands below the home folder or the project, and what the settings name stands before the last', () => {
    expect(directories({})).toEqual(DEFAULT_SOURCES.map(({ label }) => locations(label)));
    expect(directories({ sources: ['team'], skills_path: '/else/where' }).slice(-4)).toEqual([
      '/project/skills',
      '/project/team',
      '/else/where',
      '/project/sandbox/skills',
    ]);
    expect(directories({ sources: { replace: ['team', { path: 'more', label: 'More' }] } })).toEqual(['/project/team', '/project/more']);
    expect(resolveSources(places, { sources: [{ path: 'more', label: 'More' }] }).at(-2)).toEqual({
      label: 'More',
      directory: '/project/more',
      trusted: true,
      configured: true,
    });
    expect(resolveSources({ ...plain, bundled: null }, {}).map(({ label }) => label)).toEqual([...PROJECT, 'skills', 'sandbox/skills']);
  });

  it('S10 shipped extensions may carry skills, below those that ship by themselves', () => {
    const carried = new Map([['recipes', '/pith/sandbox/extensions/recipes/skills']]);
    expect(resolveSources({ ...plain, carried }, {}).slice(0, 2)).toMatchObject([
      { label: 'bundled/recipes', directory: '/pith/sandbox/extensions/recipes/skills', trusted: true },
      { label: 'bundled', directory: '/pith/sandbox/skills', trusted: true },
    ]);
  });

  it('S10 S14 where the project is the home folder, its folders count once and are the user’s', () => {
    const sources = resolveSources({ ...places, project: '/home/me', sandbox: '/home/me/sandbox' }, {});
    expect(sources.filter(({ directory }) => directory === '/home/me/.claude/skills')).toEqual([
      { label: '.claude/skills', directory: '/home/me/.claude/skills', trusted: true, configured: false },
    ]);
    expect(sources.filter(({ trusted }) => !trusted).map(({ label }) => label)).toEqual(['skills']);
  });

  it('S10 paths are relative to the project, never to the working directory', () => {
    const added = (config: Parameters<typeof resolveSources>[1]) => directories(config).filter((one) => !directories({}).includes(one));
    expect(added({ sources: ['../shared', '~/mine'] })).toEqual(['/shared', '/home/me/mine']);
    expect(added({ skills_path: 'sandbox/skills' })).toEqual([]);
    expect(directories({ skills_path: 'sandbox/skills' })).toEqual(directories({}));
  });

  it('S16 says nothing of a default source that is absent, warns of a configured one, and goes on', async () => {
    const box = await skillSandbox({ 'team/good/SKILL.md': skillText({ name: 'good' }) });
    await box.remove('sandbox/skills');
    const snapshot = await box.registry({ config: { sources: ['team', 'absent'] } }).refresh();
    expect([...snapshot.skills.keys()]).toEqual(['good']);
    expect(snapshot.diagnostics).toMatchObject([
      { severity: 'warning', code: 'source_missing', file: `${box.project}/absent`, cure: 'create the directory or correct the setting' },
    ]);
  });

  it('N3 S14 a project source that the settings name is trusted thereby, which is told', async () => {
    const box = await skillSandbox({ '.claude/skills/good/SKILL.md': skillText({ name: 'good' }) });
    const snapshot = await box.registry({ config: { sources: ['.claude/skills'] } }).refresh();
    expect(snapshot.skills.get('good')?.state).toBe('offered');
    expect(snapshot.diagnostics).toMatchObject([
      { severity: 'info', code: 'source_trusted_by_settings', cure: expect.stringContaining('pith skills trust .claude/skills') },
    ]);
  });

  it('S16 a folder with files but no SKILL.md in it or below is information', async () => {
    const box = await skillSandbox({
      'sandbox/skills/notes/readme.txt': 'x',
      'sandbox/skills/group/index.md': 'x',
      'sandbox/skills/group/good/SKILL.md': skillText({ name: 'good' }),
      'sandbox/skills/README.md': 'x',
    });
    const snapshot = await box.registry().refresh();
    expect(snapshot.diagnostics).toMatchObject([{ severity: 'info', code: 'no_skill_file', file: `${box.sandbox}/skills/notes` }]);
  });
});
