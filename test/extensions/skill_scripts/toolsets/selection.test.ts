import type { ExtensionContext } from 'pith';
import { describe, expect, it } from 'vitest';
import { skillsWithToolsets, toolsetsOfTurn } from '../../../../sandbox/extensions/skill_scripts/toolsets/skill-toolset.ts';
import { agentOf, recordsOf, skillOf, turnOf } from '../../skill_registry/skill-values.ts';

const toolsets = ['toolsets/index:list'];
const offered = ['bound', 'read', 'triggered', 'hidden', 'other'].map((id) => skillOf(id, { toolsets }));
const unoffered = (['untrusted', 'disabled', 'invalid', 'draft'] as const).map((state) =>
  skillOf(state, { toolsets, state, reason: 'so' }),
);
const skills = [...offered, ...unoffered, skillOf('plain')];
const agent = agentOf({
  usesSkills: ['bound', 'untrusted'],
  usesTools: ['toolset:named', 'toolset:disabled'],
  keys: { skills: { deny: ['hidden'] } },
});

async function idsOf({ isTrusted = async (_ref: string) => true, ofMode = ['triggered'] } = {}): Promise<readonly string[]> {
  const turn = turnOf({ agent, held: ['read', 'hidden', 'plain', 'gone', 'invalid'].map((key) => ({ key, digest: 'd' })) });
  const library = { records: async () => recordsOf(skills, agent), isTrusted };
  const context = { find: () => [{ skillsFor: async () => ofMode }] } as unknown as ExtensionContext;
  return (await toolsetsOfTurn(turn, library, context)).map((each) => ('extension' in each ? each.extension : ''));
}

describe('which toolsets a turn has', () => {
  it('S70: those of skills that it carries, holds or is about to get, in so far as they are offered and the agent may read them', async () => {
    expect(await idsOf()).toEqual(['toolset:bound', 'toolset:read', 'toolset:triggered']);
    expect(await idsOf({ ofMode: [] })).toEqual(['toolset:bound', 'toolset:read']);
  });

  it('S70: none of a skill that is not as a person trusted it any more', async () => {
    expect(await idsOf({ isTrusted: async (ref) => ref !== 'sandbox/skills/bound' })).toEqual(['toolset:read', 'toolset:triggered']);
  });

  it('S70: a mode that fails costs what it brings, and the log says which', async () => {
    const said: string[] = [];
    const failing = { extensionId: 'odd_mode', skillsFor: () => Promise.reject(new Error('it is broken')) };
    const context = { find: () => [failing], logger: { debug: (text: string) => said.push(text) } } as unknown as ExtensionContext;
    const library = { records: async () => recordsOf(skills, agent), isTrusted: async () => true };
    const found = await toolsetsOfTurn(turnOf({ agent }), library, context);
    expect(found).toEqual([{ extension: 'toolset:bound' }]);
    expect(said.join()).toMatch(/odd_mode.*it is broken/);
  });

  it('S70: all that are offered can be listed', () => {
    expect(skillsWithToolsets(recordsOf(skills)).map(({ id }) => id)).toEqual(['bound', 'hidden', 'other', 'read', 'triggered']);
  });
});
