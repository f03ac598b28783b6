import { contextSources } from '../../../core/agent/index.ts';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createScope } from '../../../core/kernel/index.ts';
import { systemClock } from '@pith/promises';
import { fakeClock } from 'pith/testing';
import { callTool, NEVER, testSandbox, type TestSandbox } from './extensions.ts';
import { TURN } from '../../fixtures/agent-spec.ts';

let sandbox: TestSandbox;
beforeEach(() => void (sandbox = testSandbox()));

const CANARY = 'canary/“7f3a”\\9d+c1&b';

describe('secrets', () => {
  const forms = () => [
    CANARY,
    JSON.stringify(CANARY).slice(1, -1),
    encodeURIComponent(CANARY),
    Buffer.from(CANARY).toString('base64'),
    Buffer.from(CANARY).toString('hex'),
  ];

  it('K61 gives declared secrets only, and keeps their values out of failures, logs, results, events and context', async () => {
    await sandbox.extension(
      'spy',
      'tool, context',
      `import type { ExtensionContext } from 'pith';
      const forms = (s: string) => [s, Buffer.from(s).toString('base64'), Buffer.from(s).toString('hex'), encodeURIComponent(s)].join(' ');
      export default class Spy {
        contextPriority = 1;
        constructor(private readonly context: ExtensionContext) {}
        async getContext() { return 'context ' + forms(this.context.getSecret('SPY_TOKEN')!); }
        getTools() {
          const tool = (name: string, run: (secret: string) => unknown) => defineTool({ name, description: '', input: z.object({}), execute: async () => run(this.context.getSecret('SPY_TOKEN')!) });
          return [
            tool('throws', (secret) => { throw new Error('bad ' + forms(secret), { cause: secret }); }),
            tool('returns', (secret) => ({ [secret]: forms(secret), list: [secret] })),
            tool('refuses', (secret) => toolError('no', forms(secret))),
            tool('logs', (secret) => { this.context.logger.error('log ' + secret, { all: forms(secret), nested: { secret } }); return 1; }),
            tool('other', () => this.context.getSecret('HOME_TOKEN')),
            tool('unset', () => this.context.getSecret('UNSET_TOKEN')),
          ];
        }
      }`,
      'secrets: [SPY_TOKEN, UNSET_TOKEN]',
    );
    const host = await sandbox.host({ env: { SPY_TOKEN: CANARY, HOME_TOKEN: 'another-canary' } });
    const seen: unknown[] = [];
    for (const tool of ['throws', 'returns', 'refuses', 'logs', 'other', 'unset']) seen.push(await callTool(host, 'spy', tool));
    expect(seen[1]).toMatchObject({ ok: true, output: { list: ['[secret SPY_TOKEN]'] } });
    expect(seen[4]).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining("secret 'HOME_TOKEN', which its manifest does not declare") },
    });
    expect(seen[5]).toEqual({ ok: true, output: null });
    for (const source of await contextSources(host)) seen.push(await source.getContext('p', TURN, NEVER));
    expect(seen.at(-1)).toEqual({ system: expect.stringContaining('context [secret SPY_TOKEN]') });
    seen.push(host.extensions.failures(), sandbox.failures);
    await host.stop();
    const log = await readFile(path.join(sandbox.directory, 'data/logs/pith.log'), 'utf8');
    expect(log).toContain('log [secret SPY_TOKEN]');
    for (const form of forms()) expect(`${JSON.stringify(seen)}\n${log}`).not.toContain(form);
    for (const line of log.trim().split('\n'))
      expect(JSON.parse(line)).toMatchObject({ level: expect.any(Number), time: expect.any(Number), msg: expect.any(String) });
  });

  it('K61 keeps them out of the log also when it is written while the kernel runs', async () => {
    const clock = fakeClock();
    await sandbox.extension(
      'spy',
      'tool',
      `export default class Spy { constructor(context) { this.context = context; } getTools() { return [defineTool({ name: 'work', description: '', input: z.object({}), execute: () => { this.context.logger.info('it is ' + this.context.getSecret('SPY_TOKEN')); } })]; } }`,
      'secrets: [SPY_TOKEN]',
    );
    const host = await sandbox.host({ env: { SPY_TOKEN: CANARY }, clock });
    await callTool(host, 'spy');
    await clock.advance(1000);
    await callTool(host, 'spy');
    await host.stop();
    const log = await readFile(path.join(sandbox.directory, 'data/logs/pith.log'), 'utf8');
    expect(
      log
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([{ name: 'spy', msg: 'it is [secret SPY_TOKEN]' }, { msg: 'it is [secret SPY_TOKEN]' }]);
  });
});

describe('context', () => {
  it('makes the data folder and opens the store on first use only, and releases what an extension owns newest first', async () => {
    const order: string[] = ((globalThis as { released?: string[] }).released = []);
    await sandbox.extension(
      'owner',
      'tool',
      `import { writeFileSync } from 'node:fs';
      export default class Owner {
        constructor(private readonly context) {
          context.own(() => globalThis.released.push('first'));
          context.own(async () => { globalThis.released.push('second'); throw new Error('cannot release'); });
          context.events.handle('extension.stopped', () => { globalThis.released.push('heard'); });
        }
        stop() { globalThis.released.push('stop'); }
        getTools() {
          const { kv, database } = this.context;
          const tool = (name: string, execute) => defineTool({ name, description: '', input: z.object({}), execute });
          return [
            tool('nothing', () => 1),
            tool('write', () => writeFileSync(this.context.dataDirectory + '/x', '1')),
            tool('keep', async () => { await kv.set('a', { b: 1 }); await database.write([{ sql: 'CREATE TABLE owner__t (n INTEGER)' }, { sql: 'INSERT INTO owner__t VALUES (?)', values: [7] }]); return [await kv.get('a'), await database.get('SELECT n FROM owner__t')]; }),
          ];
        }
      }`,
    );
    const host = await sandbox.host();
    const call = (tool: string) => callTool(host, 'owner', tool);
    await call('nothing');
    expect(existsSync(path.join(sandbox.directory, 'data/extensions/owner'))).toBe(false);
    await call('write');
    expect(existsSync(path.join(sandbox.directory, 'data/extensions/owner/x'))).toBe(true);
    expect(existsSync(path.join(sandbox.directory, 'data/pith.db'))).toBe(false);
    expect(await call('keep')).toEqual({ ok: true, output: [{ b: 1 }, { n: 7 }] });
    expect(existsSync(path.join(sandbox.directory, 'data/pith.db'))).toBe(true);
    await host.stop();
    expect(order).toEqual(['stop', 'second', 'first']);
    expect(host.extensions.failures()).toMatchObject([{ extensionId: 'owner', phase: 'stop', message: 'cannot release' }]);
  });
});

describe('scope', () => {
  it('releases newest first, once, and collects what fails', async () => {
    const order: string[] = [];
    const scope = createScope(systemClock);
    scope.own(() => void order.push('a'));
    scope.own(() => {
      order.push('b');
      throw new Error('b failed');
    });
    scope.own(async () => void order.push('c'));
    const errors = await scope.close();
    expect(order).toEqual(['c', 'b', 'a']);
    expect(errors.map(({ message }) => message)).toEqual(['b failed']);
    expect(await scope.close()).toBe(errors);
    scope.own(() => void order.push('late'));
    await scope.close();
    expect(order.at(-1)).toBe('late');
  });

  it('goes on after a release that hangs', async () => {
    const clock = fakeClock();
    const scope = createScope(clock, 5000);
    let released = false;
    scope.own(() => void (released = true));
    scope.own(() => new Promise(() => undefined));
    const closing = scope.close();
    await clock.advance(5000);
    expect((await closing).map(({ message }) => message)).toEqual(['a release took longer than 5000 ms']);
    expect(released).toBe(true);
  });
});
