import { describe, expect, it } from 'vitest';
import { scopeOf } from '../../../../sandbox/extensions/skill_registry/catalog/scope.ts';
import {
  skillsWithToolsets,
  toolsetsOfTurn,
  type TurnSkills,
} from '../../../../sandbox/extensions/skill_registry/toolsets/skill-toolset.ts';
import { agentOf, skillOf, snapshotOf, turnOf } from '../skill-values.ts';

const toolsets = ['toolsets/index:list'];
const offered = ['bound', 'read', 'triggered', 'hidden', 'other'].map((id) => skillOf(id, { toolsets }));
const unoffered = (['untrusted', 'disabled', 'invalid', 'draft'] as const).map((state) =>
  skillOf(state, { toolsets, state, reason: 'so' }),
);
const snapshot = snapshotOf([...offered, ...unoffered, skillOf('plain')]);
const agent = agentOf({
  usesSkills: ['bound', 'untrusted'],
  usesTools: ['toolset:named', 'toolset:disabled'],
  keys: { skills: { deny: ['hidden'] } },
});

async function idsOf(values: Partial<TurnSkills> = {}): Promise<readonly string[]> {
  const held = ['read', 'hidden', 'plain', 'gone', 'invalid'].map((skillId) => ({ skillId }));
  const skills = {
    snapshot,
    scope: scopeOf(snapshot, agent),
    ledger: { loadedIn: () => held } as unknown as TurnSkills['ledger'],
    matched: async () => ({ chosen: [offered[2]!], active: [] }),
    isStillTrusted: async () => true,
    ...values,
  };
  return (await toolsetsOfTurn(turnOf({ agent }), skills)).map((each) => ('brought' in each ? each.brought : ''));
}

describe('which toolsets a turn has', () => {
  it('S70: those of skills that it carries, holds or is about to get, in so far as they are offered and the agent may read them', async () => {
    expect(await idsOf()).toEqual(['toolset:bound', 'toolset:read', 'toolset:triggered']);
    expect(await idsOf({ matched: async () => null })).toEqual(['toolset:bound', 'toolset:read']);
  });

  it('S70: none of a skill that is not as a person trusted it any more', async () => {
    expect(await idsOf({ isStillTrusted: async ({ id }) => id !== 'bound' })).toEqual(['toolset:read', 'toolset:triggered']);
  });

  it('S70: all that are offered can be listed', () => {
    expect(skillsWithToolsets(snapshot).map(({ id }) => id)).toEqual(['bound', 'hidden', 'other', 'read', 'triggered']);
  });
});
