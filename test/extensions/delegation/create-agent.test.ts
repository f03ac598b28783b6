import type { JsonValue } from 'pith';
import { fakeClock, testKernel, type ScriptedStep } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { call, calls, readResults, toolNames, world, type World } from './delegation-sandbox.ts';

const skill = (id: string) => ({ [`skills/${id}/SKILL.md`]: `---\nname: ${id}\ndescription: Knows ${id}.\n---\nBODY-OF-${id}\n` });
const settings = { 'pith.yaml': 'default_agent: boss\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0 }\n' };
const taster = { name: 'Soup taster', instructions: 'YOU TASTE SOUP.', uses_tools: ['look'] };
const MINUTE = 60_000;

/** Calls the made agent of the last result with `task`. */
const useIt =
  (task = 'Taste.'): ScriptedStep =>
  (request) =>
    call('delegate_task', { agent_id: idIn(request), task }) as object;
const idIn = (request: Parameters<typeof readResults>[0]) => (readResults(request)[0] as { agent_id: string }).agent_id;

async function refusal({ pith, model }: World): Promise<unknown> {
  await pith.run('go');
  return readResults(model.requests.at(-1))[0];
}

describe('create_agent', () => {
  it('K43 makes an agent that delegate_task runs, with these instructions and tools and no others', async () => {
    const { pith, model } = await world({}, [
      call('create_agent', { ...taster, limits: { max_turns: 3, max_tokens: 9_999_999 } }),
      useIt(),
      call('whoami', {}),
      { text: 'Salty.' },
      { text: 'ok' },
    ]);
    await pith.run('go');
    expect(readResults(model.requests[1])).toMatchObject([
      { agent_id: expect.stringMatching(/^made_soup_taster_[0-9a-f]{8}$/), tools: ['toys/look'], skills: [], model: 'default' },
    ]);
    expect(readResults(model.requests[1])).toMatchObject([{ limits: { max_turns: 3, max_tokens: 200_000 } }]);
    expect(model.requests[2]?.system).toContain('YOU TASTE SOUP.');
    expect(toolNames(model.requests[2])).toEqual(['look']);
    expect(readResults(model.requests[3])).toMatchObject([{ error: { code: 'tool_unknown' } }]);
    expect(readResults(model.requests[4])).toMatchObject([{ text: 'Salty.', reason: 'done' }]);
  });

  it('K43 "*" is what the creator has in this turn, narrowed by its policy', async () => {
    const { pith, model } = await world({}, [call('create_agent', { ...taster, uses_tools: ['*'] }), { text: 'ok' }]);
    await pith.run('go', { policy: { allowTools: ['delegation/create_agent', 'toys/poke'] } });
    expect(readResults(model.requests[1])).toMatchObject([{ tools: ['delegation/create_agent', 'toys/poke'] }]);
  });

  it('K43 a kept agent has no tool that its caller lacks when it is called', async () => {
    const { pith, model } = await world({}, [call('create_agent', { ...taster, uses_tools: ['*'], keep: true }), { text: 'ok' }]);
    await pith.run('go');
    const agent_id = idIn(model.requests[1]);
    model.add(call('delegate_task', { agent_id, task: 'Taste.' }), { text: 'Salty.' }, { text: 'ok' });
    const { requests } = await pith.run('again', { policy: { allowTools: ['delegation/delegate_task', 'toys/poke'] } });
    expect(toolNames(requests[1])).toEqual(['delegate_task', 'poke']);
  });

  it.each<[string, JsonValue, string, string]>([
    ['a tool that nobody has', { ...taster, uses_tools: ['lok'] }, 'tool_unknown', "did you mean 'look'"],
    ['a tool of others', { ...taster, uses_tools: ['core_tools/file'] }, 'tool_unknown', "'boss' has no such tool to give"],
    ['keys of its own', { ...taster, skills: { mode: 'catalog' } }, 'tool_input_invalid', 'skills'],
  ])('K43 K44 refuses %s', async (_what, input, code, message) => {
    const there = await world({}, [call('create_agent', input), { text: 'ok' }]);
    expect(await refusal(there)).toMatchObject({ error: { code, message: expect.stringContaining(message) } });
  });

  it('K44 refuses a model that nothing offers', async () => {
    const manifest = 'id: boss\nagent: { uses_tools: [delegation] }\n';
    await using pith = await testKernel({ files: { 'agents/boss/manifest.yaml': manifest }, env: { PITH_MODEL: 'offline/librarian' } });
    const made = await pith.kernel.agents.callTool('boss', 'create_agent', { ...taster, uses_tools: [], model: 'ofline/big' });
    expect(made).toMatchObject({
      ok: false,
      error: { code: 'agent_failed', message: expect.stringContaining("did you mean 'offline/big'") },
    });
  });

  it('K43 carries only skills that its creator may read, and sees no wider catalog', async () => {
    const files = { ...settings, ...skill('soup'), ...skill('secret') };
    const boss = { uses_tools: ['delegation', 'skill_registry'], skills: { mode: 'catalog', allow: ['soup'] } };
    const { pith, model } = await world(
      { boss },
      [
        calls(
          ['create_agent', { ...taster, uses_tools: ['skill_registry'], uses_skills: ['soup'] }],
          ['create_agent', { ...taster, uses_tools: [], uses_skills: ['secret'] }],
        ),
        useIt(),
        call('read_skill', { skill_id: 'secret' }),
        { text: 'Salty.' },
        { text: 'ok' },
      ],
      { files },
    );
    await pith.run('go');
    expect(readResults(model.requests[1])[1]).toMatchObject({
      error: { code: 'skill_not_found', message: expect.stringContaining("'secret'") },
    });
    expect(model.requests[2]?.system).toContain('BODY-OF-soup');
    expect(model.requests[2]?.system).not.toContain('Knows secret.');
    expect(readResults(model.requests[3])).toMatchObject([{ error: { code: 'skill_not_found' } }]);
  });

  it('K40 K43 is forgotten after 30 minutes unless kept; a kept one is there after a restart, in every thread of this person', async () => {
    const clock = fakeClock();
    const list = call('list_agents', {});
    const { pith, model } = await world(
      {},
      [calls(['create_agent', { ...taster, name: 'Short' }], ['create_agent', { ...taster, name: 'Long', keep: true }]), { text: 'ok' }],
      { clock },
    );
    const names = async (request: object = {}) => {
      model.add(list, { text: 'ok' });
      await pith.run('who', request);
      return (readResults(model.requests.at(-1)) as readonly { agents: readonly { name: string }[] }[])[0]?.agents
        .map(({ name }) => name)
        .sort();
    };
    await pith.run('go');
    expect(await names()).toEqual(['Long', 'Short']);
    expect(await names({ threadId: 'other' })).toEqual(['Long']);
    expect(await names({ userId: 'eve' })).toEqual([]);
    await pith.restart();
    await clock.advance(29 * MINUTE);
    expect(await names()).toEqual(['Long', 'Short']);
    await clock.advance(MINUTE);
    expect(await names()).toEqual(['Long']);
  });

  it('K43 nobody calls or forgets what another agent made', async () => {
    const other = { uses_tools: ['delegation'] };
    const { pith, model } = await world({ other }, [call('create_agent', { ...taster, keep: true }), { text: 'ok' }]);
    await pith.run('go');
    const agent_id = idIn(model.requests[1]);
    model.add(calls(['delegate_task', { agent_id, task: 'x' }], ['forget_agent', { agent_id }]), { text: 'ok' });
    const theirs = await pith.run('go', { agent: 'other' });
    expect(readResults(theirs.requests.at(-1))).toMatchObject([{ error: { code: 'agent_unknown' } }, { error: { code: 'agent_unknown' } }]);
    model.add(calls(['forget_agent', { agent_id }]), call('list_agents', {}), { text: 'ok' });
    const own = await pith.run('go');
    expect(readResults(own.requests.at(-1))).toEqual([{ agents: [] }]);
  });

  it('K43 an agent makes twenty at most', async () => {
    const make = (from: number) =>
      calls(...Array.from({ length: 7 }, (_, n) => ['create_agent', { ...taster, name: `N${from + n}` }] as const));
    const { pith, model } = await world({}, [make(0), make(7), make(14), { text: 'ok' }]);
    await pith.run('go');
    const last = readResults(model.requests.at(-1));
    expect(last.filter((result) => 'error' in (result as object))).toMatchObject([{ error: { code: 'limit_reached' } }]);
  });
});
