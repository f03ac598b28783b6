import { homedir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { DEFAULT_SOURCES, isInside, resolveSources } from '../../../sandbox/extensions/skill_registry/scan/sources.ts';
import { skillSandbox, skillText } from './skill-sandbox.ts';

const places = { sandbox: '/project/sandbox', project: '/project', bundled: '/pith/sandbox/skills' };
const directories = (config: Parameters<typeof resolveSources>[1], where = places) =>
  resolveSources(where, config).map(({ directory }) => directory);

describe('sources', () => {
  it('S10 the whole list is data in one place, lowest precedence first', () => {
    expect(DEFAULT_SOURCES.map(({ label }) => label)).toEqual([
      'bundled',
      '~/.pickle-bot/skills',
      '~/.agent/skills',
      '~/.kodelet/skills',
      '~/.openclaw/skills',
      '~/.codex/skills',
      '~/.cursor/skills',
      '~/.claude/skills',
      '~/.agents/skills',
      '~/.pith/skills',
      '.cursor/skills',
      '.codex/skills',
      '.agent/skills',
      '.kodelet/skills',
      '.claude/skills',
      '.agents/skills',
      'skills',
      'sandbox/skills',
    ]);
    expect(DEFAULT_SOURCES.filter(({ trusted }) => !trusted).every(({ base }) => base === 'project')).toBe(true);
  });

  it('S10 bundled and sandbox/skills are looked into, and what the settings name between them', () => {
    expect(directories({})).toEqual(['/pith/sandbox/skills', '/project/sandbox/skills']);
    expect(directories({ sources: ['team'], skills_path: '/else/where' })).toEqual([
      '/pith/sandbox/skills',
      '/project/team',
      '/else/where',
      '/project/sandbox/skills',
    ]);
    expect(directories({ sources: { replace: ['team', { path: 'more', label: 'More' }] } })).toEqual(['/project/team', '/project/more']);
    expect(resolveSources(places, { sources: [{ path: 'more', label: 'More' }] })[1]).toEqual({
      label: 'More',
      directory: '/project/more',
      trusted: true,
      configured: true,
    });
    expect(resolveSources({ ...places, bundled: null }, {}).map(({ label }) => label)).toEqual(['sandbox/skills']);
  });

  it('S10 paths are relative to the project, never to the working directory', () => {
    expect(directories({ sources: ['../shared', '~/mine'] })).toEqual([
      '/pith/sandbox/skills',
      '/shared',
      `${homedir()}/mine`,
      '/project/sandbox/skills',
    ]);
    expect(directories({ skills_path: 'sandbox/skills' })).toEqual(['/pith/sandbox/skills', '/project/sandbox/skills']);
  });

  it('S12 inside means below, by whole names', () => {
    expect(isInside('/a/b', '/a')).toBe(true);
    expect(isInside('/a', '/a')).toBe(true);
    expect(isInside('/ab', '/a')).toBe(false);
    expect(isInside('/', '/a')).toBe(false);
    expect(isInside('/a/..b', '/a')).toBe(true);
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
