import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { recordEvents, scriptedModel, type TestKernel } from 'pith/testing';
import { main, manifest, mine, mineWith, tools } from './extension.ts';

function call(test: TestKernel, name: string, input: Record<string, string> = {}) {
  return test.kernel.agents.callTool('asker', name, input);
}

const TOOL = (body: string, name = 'act') =>
  `defineTool({ name: '${name}', description: 'd', input: z.object({ a: z.string().optional() }), execute: async ({ a }, call) => { ${body} } })`;

describe('the context of an extension in a separate process', () => {
  it('K5: kv, config, own folders and clock work from there', async () => {
    const body = TOOL(
      `await context.kv.set('k', { n: 1 }); return { v: await context.kv.get('k'), keys: await context.kv.keys(), gone: await context.kv.delete('k'),
       id: context.id, limit: context.config.limit, data: context.dataDirectory, directory: context.directory, now: context.clock.now() > 0 };`,
    );
    const test = await mineWith(body, { fields: { config: { limit: 3 } } });
    const directory = path.join(test.sandbox, 'extensions', 'mine');
    const output = { v: { n: 1 }, keys: ['k'], gone: true, id: 'mine', limit: 3, now: true, directory };
    expect(await call(test, 'act')).toMatchObject({ ok: true, output });
  });

  it('K5: the database is refused with a cure, and the rest goes on', async () => {
    const body = TOOL(`await context.database.all('select 1'); return 1;`);
    const test = await mineWith(body);
    expect(await call(test, 'act')).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('context.database is for extensions that run inside the kernel') },
    });
  });

  it('the agent that answers who names none is the one of the settings, or of Pith where that one is not there', async () => {
    const answers = async (settings: string, files: Readonly<Record<string, string>>) => {
      const test = await mineWith(TOOL('return context.agents.defaultId();'), { files: { 'pith.yaml': settings, ...files } });
      return call(test, 'act');
    };
    const ours = { 'agents/orchestrator/manifest.yaml': 'id: orchestrator\nagent: { uses_tools: [] }\n' };
    expect(await answers('default_agent: asker\n', ours)).toEqual({ ok: true, output: 'asker' });
    expect(await answers('default_agent: nobody\n', ours)).toEqual({ ok: true, output: 'orchestrator' });
    expect(await answers('default_agent: nobody\n', {})).toEqual({ ok: true, output: 'nobody' });
  });

  it('K61: only declared secrets reach the process, and the environment holds none', async () => {
    const body = TOOL(`let refused = ''; try { context.getSecret('OTHER_KEY'); } catch (error) { refused = error.code; }
      return { own: context.getSecret('OWN_KEY').length, refused, names: Object.keys(process.env).filter((name) => name.endsWith('_KEY')) };`);
    const env = { OWN_KEY: 'canary-own-1234', OTHER_KEY: 'canary-other-1234' };
    const test = await mineWith(body, { env, fields: { secrets: ['OWN_KEY'] } });
    expect(await call(test, 'act')).toEqual({ ok: true, output: { own: 15, refused: 'not_declared', names: [] } });
  });

  it('K30: events go both ways', async () => {
    const hears = `async initialize() { this.context.events.handle('extension.activated', ({ extensionId }) => { if (extensionId === 'other') this.context.events.publish('provider.changed', { protocol: 'seen' }); }); }
       getTools() { return []; }`;
    const other = { ...manifest('other', { provides: ['tool'] }), ...tools('other', TOOL('return 1;')) };
    const test = await mine({ provides: ['tool'] }, hears, { files: other });
    const { events, host } = test.kernel;
    const seen = new Promise((resolve) => events.handle('provider.changed', resolve));
    await host.extensions.activate('mine');
    await host.extensions.activate('other');
    expect(await seen).toMatchObject({ protocol: 'seen' });
  });

  it('K5: providers are reached from the process and in it, also where they are processes themselves', async () => {
    const skills = main(
      'shelf',
      `async listSkills() { return [{ id: 'one', name: 'One', description: '', source: 's', path: 'p', state: 'offered', tokens: 1, diagnostics: [] }]; }
       async getSkillContent(id) { throw new PithError('skill_not_found', 'no skill ' + id, { cure: 'look', retryable: true }); }
       async validateSkill() { return []; }`,
    );
    const body =
      TOOL(`const shelf = context.use(SkillProvider); let code = ''; try { await shelf.getSkillContent('x'); } catch (error) { code = error.code + ' ' + error.cure + ' ' + error.retryable; }
      return { ids: (await shelf.listSkills()).map(({ id }) => id), code, found: context.find(SkillProvider).map(({ extensionId }) => extensionId), none: context.find(ModelProvider).length };`);
    const test = await mineWith(body, {
      head: "import { SkillProvider, ModelProvider } from 'pith';",
      fields: { depends_on: ['shelf'] },
      files: { ...manifest('shelf', { provides: ['skill'] }), ...skills },
    });
    const output = { ids: ['one'], code: 'skill_not_found look true', found: ['shelf'], none: 0 };
    expect(await call(test, 'act')).toEqual({ ok: true, output });
  });

  it('K50 T14 F6: turns are run in threads of its own and below a turn that it serves, while the call lasts, never in those of people', async () => {
    const body = TOOL(`
      const run = async (request) => {
        for await (const event of context.agents.run({ agent: 'asker', input: 'hi', ...request })) if (event.type === 'turn-end') return event.error?.code ?? event.text;
      };
      const { turn } = call;
      const former = (globalThis.former ??= turn);
      if (former !== turn) return run({ threadId: former.threadId + '/x', parent: former }).catch(({ code }) => code); // its call is over
      return [
        await run({ threadId: 'private' }).catch(({ code }) => code),
        await run({ threadId: turn.threadId, parent: turn }).catch(({ code }) => code),
        await run({ threadId: turn.threadId + '/x', parent: { ...turn, id: 'another' } }).catch(({ code }) => code),
        await run({ threadId: turn.threadId + '/x', parent: { ...turn, depth: -100 } }),
      ];`);
    const model = scriptedModel([{ text: 'below' }]);
    const test = await mineWith(body, { model });
    expect(await call(test, 'act')).toEqual({ ok: true, output: ['not_allowed', 'not_allowed', 'not_allowed', 'below'] });
    expect(await call(test, 'act')).toEqual({ ok: true, output: 'not_allowed' });
  });

  it('K5: an agent is run from there, part by part', async () => {
    const body =
      TOOL(`const types = []; for await (const event of context.agents.run({ agent: 'asker', input: 'hi', threadId: 'mine:inner' })) types.push(event.type);
      return { types: [...new Set(types)], agents: (await context.agents.list()).map(({ id }) => id) };`);
    const model = scriptedModel([{ text: 'word '.repeat(200) }]);
    const test = await mineWith(body, { model });
    const types = expect.arrayContaining(['turn-start', 'text-delta', 'turn-end']);
    expect(await call(test, 'act')).toMatchObject({ ok: true, output: { agents: ['asker'], types } });
  });

  it('K5: a context provider and its signal cross', async () => {
    const source = `contextPriority = 5; async getContext(prompt, turn) { return 'asked: ' + prompt + ' in ' + turn.threadId; }`;
    const test = await mine({ provides: ['context'] }, source, { model: scriptedModel([{ text: 'ok' }]) });
    const { requests } = await test.run('hello', { agent: 'asker' });
    expect(requests[0]?.system).toContain('asked: hello in test');
  });

  it('K32: log lines carry the correlation id of the turn that they serve', async () => {
    const body = TOOL(`context.logger.info('from the tool', { a: 1 }); return 1;`);
    const model = scriptedModel([{ calls: [{ name: 'act', input: {} }] }, { text: 'done' }]);
    const test = await mineWith(body, { model });
    const record = recordEvents(test.kernel.events);
    await test.run('go', { agent: 'asker' });
    const correlationId = record.of('tool.called')[0]?.correlationId;
    await test.kernel.stop();
    const log = await readFile(path.join(test.sandbox, 'data', 'logs', 'pith.log'), 'utf8');
    const line = log.split('\n').find((each) => each.includes('from the tool'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ name: 'mine', a: 1, correlationId });
  });

  it('K4: a configuration that the class refuses is told with its place', async () => {
    const files = { 'pith.yaml': 'extensions:\n  mine:\n    limit: many\n' };
    const limited = `static config = z.strictObject({ limit: z.number() }); getTools() { return []; }`;
    const { host } = (await mine({ provides: ['tool'] }, limited, { files })).kernel;
    const refused = { state: 'failed', code: 'config_invalid', line: 3, tier: 'process' };
    expect(await host.extensions.activate('mine')).toMatchObject(refused);
  });

  it('K5: a tool answers from another process, with its input parsed there', async () => {
    const model = scriptedModel([{ calls: [{ name: 'pid', input: { add: 1 } }] }, { text: 'done' }]);
    const pid = `defineTool({ name: 'pid', description: 'p', input: z.object({ add: z.number() }), execute: ({ add }) => ({ pid: process.pid, sum: add + 1 }) })`;
    const { run } = await mineWith(pid, { model });
    const { results, reason, error } = await run('go', { agent: 'asker' });
    expect({ reason, error }).toEqual({ reason: 'done', error: undefined });
    const output = results[0]?.output as { pid: number; sum: number };
    expect(output.sum).toBe(2);
    expect(output.pid).not.toBe(process.pid);
  });
});
