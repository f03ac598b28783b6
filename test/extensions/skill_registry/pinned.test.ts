import { SkillProvider } from 'pith';
import { expect, it } from 'vitest';
import { catalogParts } from '../../../sandbox/extensions/skill_registry/catalog/catalog-context.ts';
import { scopeOf } from '../../../sandbox/extensions/skill_registry/catalog/scope.ts';
import { agent, skillKernel, type SkillKernel, skill } from './skill-kernel.ts';
import { agentOf, catalogPorts, skillOf, snapshotOf, turnOf } from './skill-values.ts';

let world: SkillKernel;

const many = (count: number) =>
  Array.from({ length: count }, (_, at) => skillOf(`skill-${String(at).padStart(3, '0')}`, { description: `Number ${at} of many.` }));
const pinning = (...pinned: string[]) => agentOf({ keys: { skills: { pinned } } });

it('R12 pinned takes ids and globs: in their order, what one glob matches by id', () => {
  const snapshot = snapshotOf([...many(12), skillOf('zoo', { name: 'The Zoo' })]);
  expect(scopeOf(snapshot, pinning('zoo', 'skill-01*', 'skill-003', 'gone', 'The Zoo')).pinned).toEqual([
    'zoo',
    'skill-010',
    'skill-011',
    'skill-003',
  ]);
});

it('R12 what is pinned stands once in a prompt: its place beside the message goes to another', async () => {
  const skills = many(300);
  let among: ((id: string) => boolean) | undefined;
  const parts = await catalogParts(
    catalogPorts({
      search: {
        prepare: async () => undefined,
        rank: async (_snapshot, _query, options) => {
          among = options.among;
          const ranked = skills.filter(({ id }) => options.among!(id)).slice(0, options.k);
          return { ranked: ranked.map(({ id }) => ({ id, score: 1, why: [] })), ready: true, by: null, note: null };
        },
      },
    }),
    snapshotOf(skills),
    turnOf({ userTexts: ['number'], agent: pinning('skill-00[0-1]', 'skill-000', 'skill-007') }),
  );
  expect(parts!.system).toMatch(/^• `skill-007`/m);
  expect(parts!.turn).not.toContain('skill-007');
  expect(parts!.turn!.match(/^• /gm)).toHaveLength(12);
  expect([among!('skill-000'), among!('skill-001')]).toEqual([false, true]);
});

it('R12 S31 a skill that an agent pins, allows or denies and that does not exist is a problem at start, with the nearest id', async () => {
  const scoped = (id: string, skills: string) => agent(id, 'uses_tools: [skill_registry]', `skills: { ${skills} }`);
  world = await skillKernel({
    ...skill('alpha'),
    ...scoped('wrong', "pinned: [alhpa, 'be*'], allow: [alfa, alpha], deny: [alphaa, absent, 'none*']"),
    ...scoped('right', "pinned: [alpha, 'al*'], allow: ['*'], deny: ['al*']"),
  });
  const found = (await world.pith.kernel.problems()).filter(({ code }) => code === 'setting_unknown_skill').map(({ message }) => message);
  expect(found).toEqual([
    "agent 'wrong': skills.allow names 'alfa', which no source has (did you mean 'alpha'?)",
    "agent 'wrong': skills.deny names 'alphaa', which no source has; it counts as 'alpha'",
    "agent 'wrong': skills.pinned names 'alhpa', which no source has (did you mean 'alpha'?)",
    "agent 'wrong': skills.pinned names 'be*', which no source has",
  ]);
});

it('S31 use.md 3: of a key below `skills` that cannot be read the narrowest value stands, and the agent works', async () => {
  /** Below `skills` of an agent, what is said of it, and what the agent may read then. */
  const slips: Readonly<Record<string, readonly [written: string, said: string, readable: readonly string[]]>> = {
    mode: [
      'mode: nnone',
      "'agent.skills.mode' must be catalog, single_tool, triggers or none, not 'nnone' (did you mean 'none'?); it counts as 'none'",
      [],
    ],
    scope: [
      'scope: declard',
      "'agent.skills.scope' must be all or declared, not 'declard' (did you mean 'declared'?); it counts as 'declared'",
      [],
    ],
    deny: ['deny: [[5]]', '\'agent.skills.deny[0]\' must be a string, not a list; the list counts as ["*"]', []],
    number: ['deny: [5, alpha]', "'agent.skills.deny[0]' must be a string, not 5; it counts as '5'", ['beta']],
    both: ['deny: [alpha], denny: [beta]', "unknown key 'denny' in 'agent.skills' is ignored (did you mean 'deny'?)", ['beta']],
    stray: ['mode: catalog, modes: x', "unknown key 'modes' in 'agent.skills' is ignored (did you mean 'mode'?)", ['alpha', 'beta']],
    denny: ['denny: [alpha]', "'agent.skills.denny' must be written 'deny'; it counts as that", ['beta']],
    pinned: ['pinned: 5', "'agent.skills.pinned' must be a list, not 5 (ignored)", ['alpha', 'beta']],
    all: ['nnone', '\'agent.skills\' must be a map, not a string; it counts as {"mode":"none"}', []],
  };
  const skills = (text: string) => (text.includes(':') ? `{ ${text} }` : text);
  world = await skillKernel({
    ...skill('alpha'),
    ...skill('beta'),
    ...Object.assign(
      {},
      ...Object.entries(slips).map(([id, [text]]) => agent(id, 'uses_tools: [skill_registry]', `skills: ${skills(text)}`)),
    ),
  });
  const { kernel } = world.pith;
  const provider = (await kernel.host.providers.active(SkillProvider))[0]!;
  const found = (await kernel.agents.list()).filter(({ id }) => id in slips);
  const seen = async (id: string) => provider.readableSkills!((await kernel.agents.resolve(id)).spec);
  expect(found).toHaveLength(Object.keys(slips).length);
  for (const { id, state, notes } of found) {
    const [, said, readable] = slips[id]!;
    expect([state, notes.map(({ message }) => message)]).toEqual(['degraded', [said]]);
    expect(notes[0]).toMatchObject({ severity: 'warning', line: 5, cure: expect.stringContaining("correct 'agent.skills") });
    expect([id, await seen(id)]).toEqual([id, readable]);
  }
});
