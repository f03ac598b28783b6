import { contextSources } from '../../../core/agent/index.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { CommandIO, ModelPart } from '../../../core/contract/index.ts';
import type { Host } from '../../../core/kernel/index.ts';
import { fakeClock } from 'pith/testing';
import { NEVER, testSandbox, type TestSandbox } from './extensions.ts';
import { TURN } from '../../fixtures/agent-spec.ts';
import { until } from '../../waiting.ts';

let sandbox: TestSandbox;
beforeEach(() => void (sandbox = testSandbox()));

describe('context providers', () => {
  it.each([
    ['an undeclared secret', "return this.context.getSecret('NOPE')", 'not_declared'],
    ['an error with a code of its own', "throw new PithError('not_found', 'nothing here')", 'not_found'],
  ])('K5 records one that fails by %s, because the turn leaves it out without a word', async (_, body, code) => {
    const main = `export default class { contextPriority = 1; constructor(private readonly context) {} async getContext() { ${body}; } }`;
    await sandbox.extension('failing', 'context', main);
    const host = await sandbox.host();
    const [source] = await contextSources(host);
    await expect(source!.getContext('p', TURN, NEVER)).rejects.toMatchObject({ code });
    expect(host.extensions.failures()).toMatchObject([{ extensionId: 'failing', phase: 'getContext', code }]);
  });

  it('K5 does not record one that the end of its turn cut', async () => {
    await sandbox.extension(
      'slow',
      'context',
      'export default class { contextPriority = 1; getContext() { return new Promise(() => {}); } }',
    );
    const host = await sandbox.host();
    const [source] = await contextSources(host);
    const turn = new AbortController();
    const asked = source!.getContext('p', TURN, turn.signal);
    turn.abort();
    await expect(asked).rejects.toMatchObject({ code: 'aborted' });
    expect(host.extensions.failures()).toEqual([]);
  });
});

describe('models', () => {
  const DECLARED = 'models: [{ prefix: mine }]';
  const model = (stream: string) => `export default class {
    async models() { return []; }
    getModel(name) {
      globalThis.madeK20 = (globalThis.madeK20 ?? 0) + 1;
      const doStream = async ({ abortSignal }) => ({ stream: (async function* () { ${stream} })() });
      return { contextWindow: null, model: { specificationVersion: 'v3', provider: 'mine', modelId: name, doStream } };
    }
  }`;
  const says = (text: string) => model(`yield { type: 'text-delta', id: '1', delta: '${text}' };`);
  const ask = async (host: Host) => (await (await host.providers.models.of('mine')).getModel('m', 'mine')).model;
  const CALL = { prompt: [] };
  const textOf = async (stream: AsyncIterable<ModelPart>) => {
    let text = '';
    for await (const part of stream) if (part.type === 'text-delta') text += part.delta;
    return text;
  };

  it('K20 asks the version that runs then, and makes each model once a version', async () => {
    const state = globalThis as { madeK20?: number };
    state.madeK20 = 0;
    await sandbox.extension('mine', 'model', says('old'), DECLARED);
    const host = await sandbox.host();
    const held = await ask(host);
    const answer = async () => textOf((await held.doStream(CALL)).stream);
    expect([await answer(), await answer(), state.madeK20]).toEqual(['old', 'old', 1]);
    await sandbox.edit(host, 'mine', 'model', says('new'), DECLARED);
    expect([await answer(), await answer(), state.madeK20]).toEqual(['new', 'new', 2]);
  });

  it('K20 gives an answer under way five seconds, then ends it interrupted, also when the model ignores its signal', async () => {
    const clock = fakeClock();
    const endless = "yield { type: 'text-delta', id: '1', delta: 'a' }; await new Promise(() => {});";
    await sandbox.extension('mine', 'model', model(endless), DECLARED);
    const host = await sandbox.host({ clock });
    const stream = (await (await ask(host)).doStream(CALL)).stream[Symbol.asyncIterator]();
    expect(await stream.next()).toMatchObject({ value: { delta: 'a' } });
    const next = stream.next();
    await sandbox.extension('mine', 'model', says('new'), DECLARED);
    const refreshed = host.extensions.refresh();
    await until(() => host.extensions.show('mine')?.state !== 'active');
    await clock.advance(4000);
    expect(await Promise.race([next, Promise.resolve('open')])).toBe('open');
    await clock.advance(1500);
    await expect(next).rejects.toMatchObject({ code: 'interrupted', retryable: true });
    await refreshed;
    expect(await textOf((await (await ask(host)).doStream(CALL)).stream)).toBe('new');
  });

  it('K20 does not wait for an answer that was read to its end, or given up', async () => {
    await sandbox.extension('mine', 'model', says('old'), DECLARED);
    const host = await sandbox.host({ clock: fakeClock() });
    const held = await ask(host);
    await textOf((await held.doStream(CALL)).stream);
    for await (const _ of (await held.doStream(CALL)).stream) break;
    await sandbox.edit(host, 'mine', 'model', says('new'), DECLARED);
    expect(await textOf((await held.doStream(CALL)).stream)).toBe('new');
  });

  it('K5 gives the signal in its place, also where what stands before it or the signal itself was left out', async () => {
    const main = `export default class {
      async models(prefix, signal) { return [{ name: prefix + ' ' + (signal instanceof AbortSignal), contextWindow: null }]; }
      getModel() { throw new Error('none'); }
    }`;
    await sandbox.extension('mine', 'model', main, DECLARED);
    const provider = await (await sandbox.host()).providers.models.of('mine');
    expect(await provider.models('a', undefined)).toMatchObject([{ name: 'a true' }]);
    expect(await provider.models('a', NEVER)).toMatchObject([{ name: 'a true' }]);
    expect(await (provider.models as () => Promise<unknown>)()).toMatchObject([{ name: 'undefined true' }]);
  });
});

describe('commands', () => {
  it('F27: of any command a full or read-only disk is no fault of its source', async () => {
    const main = `export default class { getCommands() {
      return ['ENOSPC', 'EROFS', 'EINVAL'].map((code) => ({ path: 'kv ' + code.toLowerCase(), description: '',
        run: async () => { throw Object.assign(new Error(code + ': write'), { code, path: '/data/x' }); } })); } }`;
    const paths = ['ENOSPC', 'EROFS', 'EINVAL'].map((code) => `{ path: kv ${code.toLowerCase()}, description: d }`);
    await sandbox.extension('kv', 'command', main, `commands: [${paths.join()}]`);
    const cures = [];
    for (const command of await (await sandbox.host()).providers.commands.of('kv'))
      cures.push(
        await Promise.resolve(command.run({ arguments: {}, options: {} }, {} as CommandIO, NEVER)).catch(({ cure }) => cure as string),
      );
    expect(cures).toEqual([
      'the disk is full: free space on the disk of /data/x',
      'make the disk of /data/x writable',
      'correct the source of kv',
    ]);
  });

  it('K20 runs a held command in the version that runs then, and says so when it is gone', async () => {
    const told: string[] = [];
    const io = { print: (text: string) => told.push(text) } as unknown as CommandIO;
    const main = (path: string, text: string) =>
      `export default class { getCommands() { return [{ path: '${path}', description: '', run: async (input, io) => io.print('${text}') }]; } }`;
    const manifest = (path: string) => `commands: [{ path: '${path}', description: d }]`;
    await sandbox.extension('mine', 'command', main('mine show', 'old'), manifest('mine show'));
    const host = await sandbox.host();
    const [held] = await host.providers.commands.of('mine');
    const run = () => held!.run({ arguments: {}, options: {} }, io, NEVER);
    await run();
    await sandbox.edit(host, 'mine', 'command', main('mine show', 'new'), manifest('mine show'));
    await run();
    expect(told).toEqual(['old', 'new']);
    await sandbox.edit(host, 'mine', 'command', main('mine list', 'other'), manifest('mine list'));
    await expect(run()).rejects.toMatchObject({ code: 'command_unknown', message: expect.stringContaining('mine show') });
  });
});

it('K61 publishes an event without a payload while a secret is set', async () => {
  const main = `export default class {
    contextPriority = 1;
    constructor(private readonly context) {}
    async getContext() { this.context.events.publish('quiet.tick', undefined); return 'published'; }
  }`;
  await sandbox.extension('quiet', 'context', main, 'secrets: [QUIET_TOKEN]\ndefines: { topics: { quiet.tick: {} } }');
  const host = await sandbox.host({ env: { QUIET_TOKEN: 'canary-7f3a9d' } });
  const [source] = await contextSources(host);
  expect(await source!.getContext('p', TURN, NEVER)).toEqual({ system: 'published' });
});
