import { afterEach, expect, it } from 'vitest';
import { call, ledgerKernel, skill, type LedgerKernel } from './ledger-kernel.ts';

let world: LedgerKernel | undefined;
afterEach(async () => {
  await world?.pith.stop();
  world = undefined;
});

it('S82 S90 explain tells the last uses of a skill from the ledger', async () => {
  world = await ledgerKernel(skill('alpha'));
  expect(await world.print('skills explain alpha')).toContain('not used in the last 30 days');
  await world.turn('go', [call('read_skill', { skill_id: 'alpha' })]);
  await expect
    .poll(() => world!.print('skills explain alpha'))
    .toMatch(/^used \d{4}-\d\d-\d\d \d\d:\d\d by reader: loaded by read_skill, sha256 [0-9a-f]{12}$/m);
  expect((await world.command('skills explain alpha --agent reader'))['uses']).toMatchObject([{ state: 'loaded', how: 'read_skill' }]);
  expect(await world.print('skills explain alpha --agent orchestrator')).toContain('not used in the last 30 days');
});

it('S82 explain says what an agent of another mode is told, and what a text brings it', async () => {
  const agent = (id: string, mode: string) => ({
    [`agents/${id}/manifest.yaml`]: `id: ${id}\nagent: { uses_tools: [skill_registry], skills: { mode: ${mode}, deny: [beta] } }\n`,
  });
  world = await ledgerKernel({
    ...skill('alpha', { more: 'triggers: { keywords: [invoice] }\n' }),
    ...skill('beta'),
    ...agent('caller', 'single_tool'),
    ...agent('trigger', 'triggers'),
  });
  const catalog = async (line: string) => (await world!.command(`skills explain ${line}`))['catalog'];
  expect(await catalog('alpha --agent caller')).toMatchObject({ mode: 'single_tool', offered: true, withinBudget: null });
  expect(await catalog('beta --agent caller')).toMatchObject({ offered: false, why: "the agent's skills.deny names it" });
  const explained = await world.print('skills explain alpha --agent trigger --text invoice');
  expect(explained).toContain("triggers: 'invoice' is of tier 3, the message matches skills");
  expect(explained).toContain('triggers: it has keyword invoice, and brings its text');
  expect(await world.print('skills explain alpha --agent trigger --text hello')).toContain('triggers: the text has none of this skill');
});

it('S82 explain lists the scripts of a skill, and whether they can be run', async () => {
  world = await ledgerKernel({
    ...skill('alpha', { more: 'scripts: [scripts/run.sh, scripts/gone.sh]\n' }),
    'skills/alpha/scripts/run.sh': 'true',
  });
  const text = await world.print('skills explain alpha --agent reader');
  expect(text).toContain('script scripts/run.sh: no, the agent does not name skill_registry/run_skill_script');
  expect(text).toContain('script scripts/gone.sh: no, its file is missing');
  expect(await world.print('skills explain alpha')).toContain('script scripts/run.sh: by agents that name skill_registry/run_skill_script');
});

it('S90 stats of one skill say what kept it from being offered, and people get words', async () => {
  world = await ledgerKernel({
    ...skill('alpha'),
    ...skill('beta'),
    'agents/reader/manifest.yaml': 'id: reader\nagent: { uses_tools: [skill_registry], skills: { deny: [beta] } }\n',
  });
  expect(await world.print('skills stats')).toBe('Nothing is recorded of the last 30 days: talk to an agent first.');
  await world.turn('go', [call('read_skill', { skill_id: 'alpha' })]);
  await expect.poll(async () => (await world!.command('skills stats'))['turns']).toBe(1);
  expect(await world.command('skills stats')).toMatchObject({
    skills: [
      { id: 'alpha', offered: 1, loaded: { read_skill: 1 }, lastUsed: expect.any(String) },
      { id: 'beta', offered: 0, filtered: 1, loaded: {}, lastUsed: null },
    ],
  });
  const text = await world.print('skills stats beta --agent reader --days 1');
  expect(text).toContain('beta: offered in 0 of 1 turn in the last day, agent reader');
  expect(text).toContain("not offered in 1 turn: the agent's skills.deny names it");
  await expect(world.print('skills stats bet')).rejects.toMatchObject({ message: expect.stringContaining("did you mean 'beta'") });
  await expect(world.print('skills stats --days 0')).rejects.toMatchObject({ code: 'usage' });
});
