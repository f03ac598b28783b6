import { describe, expect, it } from 'vitest';
import { call, createWorld, type FakeTool, together } from './world.ts';
import { until } from '../../waiting.ts';
import { callOf, leftBehind } from './records.ts';

/** One file: `put` replaces its text, `look` reads it, `side` runs an agent; `log` has what began and ended. */
function file() {
  const state = { text: 'old' };
  const log: string[] = [];
  const open: (() => void)[] = [];
  const waits = (name: string, end: () => unknown) => async () => {
    log.push(`${name} begins`);
    await new Promise<void>((resolve) => open.push(resolve));
    log.push(`${name} ends`);
    return end();
  };
  const put: FakeTool = {
    effect: 'write',
    run: async (input) => {
      const { text } = input as { text: string };
      log.push(`put ${text} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      state.text = text;
      log.push(`put ${text} ends`);
      return `was put: ${text}`;
    },
  };
  const look: FakeTool = { run: () => (log.push(`look ${state.text}`), `has ${state.text}`) };
  const slow: FakeTool = { run: waits('slow', () => 'slow') };
  const agent: FakeTool = { effect: 'idempotent', runsAgent: true, run: waits('agent', () => 'agent') };
  return { state, log, open, tools: { put, look, slow, agent } };
}

const put = (text: string) => call('put', { text });
const done = { text: 'done' };
/** Half of a character is no text. */
const BROKEN = { text: '\ud800' };

describe('the order of effects', () => {
  it('E1 E2 calls with an effect run one after the other, and a read sees what was written before it', async () => {
    const { tools, log } = file();
    const world = await createWorld({ tools, script: [together(call('look'), put('a'), call('look'), put('b'), call('look')), done] });
    const { end, events } = await world.run('go');
    expect(end.reason).toBe('done');
    expect(log).toEqual(['look old', 'put a begins', 'put a ends', 'look a', 'put b begins', 'put b ends', 'look b']);
    expect(events.filter(({ type }) => type === 'tool-call' || type === 'tool-result').map(({ type }) => type)).toEqual(
      Array.from({ length: 5 }, () => ['tool-call', 'tool-result']).flat(),
    );
    const results = JSON.stringify(world.model.requests.at(-1)?.messages.at(-1));
    expect(results).toMatch(/has old.*was put: a.*has a.*was put: b.*has b/su);
  });

  it('E1 what only reads, and what runs an agent, runs side by side until the next effect', async () => {
    const { tools, log, open } = file();
    const world = await createWorld({ tools, script: [together(call('slow'), call('agent'), call('slow'), put('a')), done] });
    const running = world.run('go');
    await until(() => open.length === 3);
    const begun = [...log];
    for (const end of open) end();
    expect((await running).end.reason).toBe('done');
    expect(begun).toEqual(['slow begins', 'agent begins', 'slow begins']);
    expect(log.slice(-2)).toEqual(['put a begins', 'put a ends']);
  });

  it('E2 what comes after a call that waits for a person waits, too, and its own question is made when its turn comes', async () => {
    const { tools, log, state } = file();
    const asks = () => ({ text: `replaces ${state.text}` });
    const script = [together(put('a'), call('look'), put('b'), call('look')), done];
    const world = await createWorld({ tools: { ...tools, put: { ...tools.put, needsApproval: 'maybe', asks } }, script });
    const first = await world.run('go');
    expect(first.questions).toMatchObject([{ input: { text: 'a' }, details: expect.stringContaining('replaces old') }]);
    expect(log).toEqual([]);
    await world.answer('once');
    const second = await world.resume();
    expect(second.questions).toMatchObject([{ input: { text: 'b' }, details: expect.stringContaining('replaces a') }]);
    expect(log).toEqual(['put a begins', 'put a ends', 'look a']);
    await world.answer('no');
    expect((await world.resume()).end.reason).toBe('done');
    expect(log.slice(3)).toEqual(['look a']);
    expect(JSON.stringify(world.model.requests.at(-1)?.messages.at(-1))).toMatch(/was put: a.*has a.*approval_denied.*has a/su);
  });

  it('E2 what was refused before a question is refused after it, and never run with other input', async () => {
    const { tools, log } = file();
    const asking: FakeTool = { ...tools.put, needsApproval: 'always' };
    const broken = ['look', 'put', 'made_up'].map((name) => ({ name, input: BROKEN }));
    const script = [{ calls: [...together(call('asking', { text: 'x' })).calls, ...broken, ...together(call('look')).calls] }, done];
    const world = await createWorld({ tools: { ...tools, asking }, script });
    expect((await world.run('go')).questions).toHaveLength(1);
    await world.answer('once');
    expect((await world.resume()).end.reason).toBe('done');
    expect(log).toEqual(['put x begins', 'put x ends', 'look x']);
    const told = JSON.stringify(world.model.requests.at(-1)?.messages.at(-1));
    expect(told.match(/tool_input_invalid/gu)).toHaveLength(2);
    expect(told).toContain("there is no tool 'made_up'");
  });

  it('E2 a new message says of what waited behind a question that it never ran', async () => {
    const { tools, log } = file();
    const risky: FakeTool = { ...tools.put, needsApproval: 'always' };
    const world = await createWorld({ tools: { ...tools, risky }, script: [together(call('risky', { text: 'x' }), put('a')), done] });
    await world.run('go');
    expect((await world.run('leave it')).end.reason).toBe('done');
    expect(log).toEqual([]);
    expect(JSON.stringify(world.model.requests.at(-1)?.messages)).toMatch(
      /they wrote instead.*it was to run after a call that no person approved/su,
    );
  });

  it('E1 after a kill what had begun is not run again, and what had not runs in its order', async () => {
    const { tools, log } = file();
    const world = await createWorld({ tools, script: [done] });
    const { spec } = await world.registry.resolve('main');
    const record = (index: number, more: Partial<Parameters<typeof callOf>[3]>) =>
      callOf('T', 0, index, { extensionId: 'ext', effect: 'write', state: 'requested', ...more });
    await leftBehind(world, spec, [
      record(0, { name: 'put', tool: 'put', input: { text: 'a' }, state: 'started' }),
      record(1, { name: 'put', tool: 'put', input: { text: 'b' } }),
      record(2, { name: 'look', tool: 'look', input: {}, effect: 'read' }),
      record(3, { name: 'put', tool: 'put', input: { text: 'c' } }),
    ]);
    expect((await world.resume()).end.reason).toBe('done');
    expect(log).toEqual(['put b begins', 'put b ends', 'look b', 'put c begins', 'put c ends']);
    expect(JSON.stringify(world.model.requests.at(-1)?.messages.at(-1))).toMatch(/interrupted.*was put: b.*has b.*was put: c/su);
  });

  it('E1 a turn that is ended runs and asks nothing more of its answer', async () => {
    const { tools, log } = file();
    const stop = new AbortController();
    const ends: FakeTool = { effect: 'write', run: () => (stop.abort(), 'ended') };
    const risky: FakeTool = { ...tools.put, needsApproval: 'always' };
    const script = [together(call('ends'), put('a'), call('risky', { text: 'b' }))];
    const world = await createWorld({ tools: { ...tools, ends, risky }, script });
    expect((await world.run('go', {}, stop.signal)).end.reason).toBe('aborted');
    expect(log).toEqual([]);
    expect(await world.approvals.list()).toEqual([]);
  });
});
