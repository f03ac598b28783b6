import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { typedHints } from '../../../sandbox/extensions/cli_channel/commands.ts';
import { skillSandbox, skillText } from './skill-sandbox.ts';

async function box() {
  const sandbox = await skillSandbox({
    '.claude/skills/letters/SKILL.md': skillText({ name: 'letters' }),
    'sandbox/skills/own/SKILL.md': skillText({ name: 'own' }),
  });
  return {
    ...sandbox,
    states: async () => {
      const registry = sandbox.registry();
      const { all } = await registry.refresh();
      await registry.close();
      return all.map(({ id, state }) => `${id} ${state}`);
    },
  };
}

describe('S14 S83 S85 a conversation where nobody can answer', () => {
  it.each([
    ['trust', { source: '.claude/skills' }, {}, 'pith skills trust .claude/skills'],
    [
      'install',
      { from: 'a folder' },
      { source: 'user', skill: ['x', 'y'], all: false, yes: true },
      "pith skills install 'a folder' --source user --skill x --skill y --yes",
    ],
    ['update', { id: ['own', 'b'] }, {}, 'pith skills update own b'],
    ['remove', { id: 'own' }, { yes: true }, 'pith skills remove own --yes'],
  ])('S14 S83 S85 refuses skills %s, and names what to type instead', async (name, given, options, typed) => {
    const { run, states } = await box();
    const before = await states();
    const cure = `type on the command line: ${typed}`;
    await expect(run(`skills ${name}`, { arguments: given, options, session: true })).rejects.toMatchObject({
      code: 'confirmation_needed',
      cure,
    });
    expect(await states()).toEqual(before);
    expect(typedHints(cure, [`skills ${name}`])).toBe(cure); // the chat does not make it a slash command again
  });

  it('S14 S85 asks in one where a person can, as on the command line', async () => {
    const { run, states } = await box();
    const trusted = await run('skills trust', { arguments: { source: '.claude/skills' }, answer: 'yes', session: true });
    expect(trusted).toMatchObject({ code: 0, asked: ['Trust this skill?'] });
    expect(await states()).toEqual(['letters offered', 'own offered']);
  });

  it('S83 S85 goes on without a question on the command line', async () => {
    const { run, states, project } = await box();
    const from = path.join(project, '.claude/skills/letters');
    expect(await run('skills install', { arguments: { from } })).toMatchObject({ code: 0 });
    expect(await states()).toContain('letters offered');
  });
});
