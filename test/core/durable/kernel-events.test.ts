import { fakeClock, scriptedModel, type TestKernelOptions } from 'pith/testing';
import { createKeyValue, openStore } from '../../../core/store/index.ts';
import { systemClock } from '@pith/promises';
import { task, taskChanged } from './world.ts';
import { kernelOf } from '../../places.ts';
import { until } from '../../waiting.ts';
import { describe, expect, it } from 'vitest';

const SEEN = (method: string, body = '') =>
  `async ${method}(payload, delivery) { await this.context.kv.set(\`\${delivery.id} ${method} \${delivery.attempt}\`, { payload, correlation: delivery.correlationId }); ${body} }`;

const DEFINES = { topics: { 'task.changed': { durable: true } } };
const LISTENER = { id: 'listener', entrypoint: 'main.ts', isolation: 'in_process', defines: DEFINES };

function listener(methods: string, manifest: object): Record<string, string> {
  return {
    'extensions/listener/manifest.yaml': JSON.stringify({ ...LISTENER, ...manifest }),
    'extensions/listener/main.ts': `export default class { constructor(context) { this.context = context; } ${methods} }\n`,
  };
}

const AGENT = { 'agents/main/manifest.yaml': 'id: main\nagent: {}\n', 'pith.yaml': 'default_agent: main\n' };

const listening = (methods: string, manifest: object, { files, ...options }: TestKernelOptions = {}) =>
  kernelOf({ only: [], model: scriptedModel([]), ...options, files: { ...AGENT, ...listener(methods, manifest), ...files } });

async function kept(pith: { sandbox: string }): Promise<readonly { key: string; value: Record<string, unknown> }[]> {
  const store = openStore(`${pith.sandbox}/data/pith.db`, systemClock);
  try {
    createKeyValue(store, 'look'); // makes its tables where they are missing
    return store
      .all('SELECT key, value FROM kv ORDER BY key')
      .map(({ key, value }) => ({ key: String(key), value: JSON.parse(String(value)) }));
  } finally {
    await store.close();
  }
}

describe('handlers of manifests', () => {
  it('K31 K32 a message reaches the handlers that manifests declare, with the correlation id of its turn', async () => {
    const model = scriptedModel([{ text: 'hello' }]);
    const pith = await listening(SEEN('remember'), { events: { handles: [{ topic: 'user.message', handler: 'remember' }] } }, { model });
    const started: string[] = [];
    pith.kernel.events.handle('turn.started', ({ correlationId }) => void started.push(correlationId));
    const said: string[] = [];
    pith.kernel.events.handle('user.message', ({ text }) => void said.push(text));
    await pith.run('good morning');
    expect(said).toEqual(['good morning']);
    expect(await kept(pith)).toEqual([]); // nobody works on deliveries before the services start
    await pith.kernel.start();
    await until(async () => expect(await kept(pith)).toHaveLength(1));
    const [{ key, value } = { key: '', value: {} }] = await kept(pith);
    expect(key).toBe('1 remember 1');
    expect(value).toMatchObject({
      payload: { v: 1, text: 'good morning', threadId: 'test', agentId: 'main', userId: 'local' },
      correlation: started[0],
    });
  });

  it('K31 a method that is missing is named, with the nearest; topics and times that cannot be are found in the file', async () => {
    const tick = 'export default class { tick() {} }\n';
    const schedules = ['a, cron: "* * * * * *"', 'b, cron: "61 * * * *"'].map((each) => `  - { name: ${each}, handler: tick }\n`);
    const files = {
      'extensions/ear/manifest.yaml': 'id: ear\nentrypoint: main.ts\nevents:\n  handles: [{ topic: user.mesage, handler: tick }]\n',
      'extensions/ear/main.ts': tick,
      'extensions/timer/manifest.yaml': `id: timer\nentrypoint: main.ts\nschedules:\n${schedules.join('')}`,
      'extensions/timer/main.ts': tick,
    };
    const remembers = { events: { handles: [{ topic: 'user.message', handler: 'remember' }] } };
    const pith = await listening('rememberAll() {}', remembers, { files });
    const report = await pith.kernel.doctor();
    expect(report.extensions.find(({ id }) => id === 'listener')).toMatchObject({ state: 'failed', code: 'provides_mismatch' });
    expect(report.extensions.find(({ id }) => id === 'listener')?.message).toContain("'remember(payload, delivery)'");
    const found = ['ear', 'timer'].flatMap((id) => pith.kernel.host.extensions.discovery.declarations.get(id)?.diagnostics ?? []);
    expect(found.map(({ code, line, message }) => [code, line, message])).toEqual([
      ['name_unknown', 4, expect.stringContaining("did you mean 'user.message'")],
      ['manifest_invalid', 4, "'* * * * * *' must have five fields"],
      ['manifest_invalid', 5, expect.stringContaining('minute')],
    ]);
  });

  it('K31 an extension publishes the durable topics that it declares, and no others', async () => {
    const body = `async tick(payload) {
      const { events } = this.context;
      const codes = [];
      for (const topic of ['schedule.due', 'notify', 'user.message']) {
        await events.publish(topic, { v: 1, taskId: 'x' }).catch((error) => codes.push(error.code));
      }
      await events.publish('notify', { v: 1, run() {} }).catch((error) => codes.push(error.code));
      await events.publish('notify', { v: 1, text: 'x'.repeat(300_000) }).catch((error) => codes.push(error.code));
      await this.context.kv.set('codes', codes);
    }`;
    const pith = await listening(body, { events: { publishes: ['notify'], handles: [{ topic: 'task.changed', handler: 'tick' }] } });
    await pith.kernel.start();
    await pith.kernel.events.publish(taskChanged, task('x'));
    await until(async () => expect(await kept(pith)).toHaveLength(1));
    expect((await kept(pith))[0]?.value).toEqual(['not_declared', 'not_allowed', 'not_serialisable', 'parameter_invalid']);
  });

  it('K31 an extension listens to the durable topics that it declares, and no others', async () => {
    const body = `async tick() {
      const { events, kv } = this.context;
      const heard = [];
      for (const topic of ['user.message', 'approval.requested', 'notify', 'schedule.due', 'turn.started']) {
        try {
          events.handle(topic, () => undefined);
          heard.push(topic);
        } catch (error) { heard.push(error.code); }
      }
      await kv.set('heard', heard);
    }`;
    const pith = await listening(body, { events: { handles: [{ topic: 'schedule.due', handler: 'tick' }] } });
    await pith.kernel.start();
    await pith.kernel.events.publish('schedule.due', { v: 1, extensionId: 'x', name: 'x', at: 1 });
    await until(async () => expect(await kept(pith)).toHaveLength(1));
    expect((await kept(pith))[0]?.value).toEqual(['not_declared', 'not_declared', 'not_declared', 'schedule.due', 'turn.started']);
  });

  it.each(['in_process', 'process'] as const)('K30 K50 what the kernel says is not said by an extension, %s', async (isolation) => {
    const body = `async tick() {
      const { events } = this.context;
      const codes = [];
      for (const topic of ['extension.failed', 'extension.reloaded', 'turn.ended', 'tool.called', 'agent.changed', 'channel.opened']) {
        try { events.publish(topic, { extensionId: 'kv', reason: 'done' }); } catch (error) { codes.push(error.code); }
      }
      await this.context.kv.set('codes', codes);
    }`;
    const pith = await listening(body, { events: { handles: [{ topic: 'schedule.due', handler: 'tick' }] } }, { isolation });
    const heard: unknown[] = [];
    for (const topic of ['extension.failed', 'turn.ended', 'tool.called', 'agent.changed'] as const)
      pith.kernel.events.handle(topic, (payload) => void heard.push(payload));
    pith.kernel.events.handle('channel.opened', ({ extensionId }) => void heard.push(extensionId));
    await pith.kernel.start();
    await pith.kernel.events.publish('schedule.due', { v: 1, extensionId: 'x', name: 'x', at: 1 });
    await until(async () => expect(await kept(pith)).toHaveLength(1));
    await until(() => expect(heard).toEqual(['listener']));
    expect((await kept(pith))[0]?.value).toEqual(Array.from({ length: 5 }, () => 'not_allowed'));
  });

  it('K31 a new handler sees only later events, and doctor lists dead letters and what waits for handlers that are gone', async () => {
    const clock = fakeClock();
    const handles = (handler: string) => ({ events: { handles: [{ topic: 'task.changed', handler }] } });
    const pith = await listening('old() { throw new Error("no luck"); }', handles('old'), { clock });
    await pith.kernel.events.publish(taskChanged, task('early'));
    await pith.kernel.start();
    for (let round = 0; round < 600; round++) {
      await clock.advance(1000);
      if ((await pith.kernel.doctor()).notes.some(({ code }) => code === 'handler_failed')) break;
    }
    const dead = (await pith.kernel.doctor()).notes.filter(({ code }) => code === 'handler_failed');
    expect(dead.map(({ message }) => message)).toEqual([
      "event 1 (task.changed) could not be delivered to 'listener/old' after 8 attempts: no luck",
    ]);
    await pith.kernel.events.publish(taskChanged, task('waits'), { at: clock.now() + 3_600_000 });
    for (const [file, text] of Object.entries(listener(SEEN('fresh'), handles('fresh')))) await pith.write(file, text);
    await pith.kernel.host.extensions.refresh();
    const gone = (await pith.kernel.doctor()).notes.filter(({ message }) => message.includes('no enabled extension'));
    expect(gone.map(({ message }) => message)).toEqual(["1 event waits for 'listener/old', which no enabled extension declares any more"]);
    await pith.kernel.events.publish(taskChanged, task('late'));
    await until(async () => expect((await kept(pith)).map(({ key }) => key)).toEqual(['3 fresh 1']));
  });

  it('K31 a handler in a separate process is delivered to, also after its process has died, which counts as an attempt', async () => {
    const body = `async tick(payload, delivery) {
      if (delivery.attempt === 1) (await import('node:child_process')).execSync('kill -9 ' + process.pid);
      await this.context.kv.set(String(delivery.attempt), { taskId: payload.taskId });
    }`;
    const pith = await listening(
      body,
      { isolation: 'process', events: { handles: [{ topic: 'task.changed', handler: 'tick' }] } },
      { isolation: 'process' },
    );
    await pith.kernel.start();
    await pith.kernel.events.publish(taskChanged, task('t1'));
    await until(async () => expect(await kept(pith)).toEqual([{ key: '2', value: { taskId: 't1' } }]));
  });
});

it('U45 what was said goes with its thread, also where a handler still waits for it; other threads and topics keep theirs, and that it went is told', async () => {
  const handles = [{ topic: 'user.message', handler: 'remember' }];
  const pith = await listening(SEEN('remember'), { events: { handles } }, { model: scriptedModel([{ text: 'a' }, { text: 'b' }]) });
  for (const threadId of ['one', 'other']) await pith.run(`in ${threadId}`, { threadId });
  const store = openStore(`${pith.sandbox}/data/pith.db`, systemClock);
  await store.write((statement) => void statement(`INSERT INTO events (topic, key, payload, at) VALUES ('task.changed', 'one', '{}', 1)`));
  const rows = () => [
    store.all('SELECT topic, key FROM events ORDER BY id').map(({ topic, key }) => `${String(topic)} ${String(key)}`),
    store.all('SELECT key FROM deliveries ORDER BY event').map(({ key }) => key),
  ];
  expect(rows()).toEqual([
    ['user.message one', 'user.message other', 'task.changed one'],
    ['one', 'other'],
  ]);
  await pith.kernel.agents.deleteThread('one');
  expect(rows()).toEqual([['user.message other', 'task.changed one', 'thread.removed one'], ['other']]);
  await store.close();
});
