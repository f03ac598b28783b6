import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventFindings } from '../../../sandbox/extensions/extension_builder/check/events.ts';
import { readSources } from '../../../sandbox/extensions/extension_builder/sources.ts';

const SHIPPED = path.resolve('sandbox');
const NOWHERE = '/nowhere';

/** What is said of a service with this body, below `folder`. */
async function said(body: string, manifest = '', more: Readonly<Record<string, string>> = {}) {
  const bytes = Object.entries({
    'manifest.yaml': `id: two\nentrypoint: main.ts\nprovides: [service]\n${manifest}\n`,
    'main.ts': `${more['head'] ?? ''}\nexport default class {\n  constructor(private readonly context) {}\n  async runBackground() {\n${body}\n  }\n}\n`,
    ...more,
  }).map(([file, text]) => ({ path: file, bytes: Buffer.from(text) }));
  const found = await eventFindings('/two', bytes, { sandbox: NOWHERE, shippedSandbox: SHIPPED });
  return found.map(({ file = '', line, message, cure }) => `${path.relative('/two', file)}:${line ?? ''} ${message}; ${cure}`);
}

const TOKENS =
  "import { defineTopic } from 'pith'; import { taskChanged as made } from 'pith/task_engine'; import { own } from './contract.ts';";
const CONTRACT = { 'contract.ts': "import { defineTopic } from 'pith';\nexport const own = defineTopic('two.own');\n" };
const UNDECLARED = 'which its manifest does not declare';

describe('A4: topics that the manifest does not name', () => {
  it.each([
    [
      'a literal',
      "this.context.events.publish('notify', {});",
      `main.ts:5 publishes 'notify', ${UNDECLARED}; add notify to 'events.publishes'`,
    ],
    [
      'a template without values',
      'this.context.events?.publish(`notify`, {});',
      `main.ts:5 publishes 'notify', ${UNDECLARED}; add notify to 'events.publishes'`,
    ],
    [
      'over lines',
      "const { events } = this.context;\nawait events\n  .publish('notify', {});",
      `main.ts:6 publishes 'notify', ${UNDECLARED}; add notify to 'events.publishes'`,
    ],
    [
      'a constant',
      'this.context.events.publish(NAME, {});',
      `main.ts:5 publishes 'notify', ${UNDECLARED}; add notify to 'events.publishes'`,
    ],
    [
      "another's token",
      'this.context.events.publish(made, {});',
      `main.ts:5 publishes 'task.changed', ${UNDECLARED}; add task.changed to 'events.publishes'`,
    ],
    [
      'an own token',
      'this.context.events.publish(own, {});',
      "main.ts:5 publishes 'two.own', which its contract defines and its manifest does not; add two.own to 'defines.topics'",
    ],
    [
      "the kernel's",
      "this.context.events.publish('turn.ended', {});",
      "main.ts:5 publishes 'turn.ended', which only the kernel does; publish another topic",
    ],
    [
      'a durable one that it listens to',
      'this.context.events.handle(made, () => {});',
      `main.ts:5 listens to 'task.changed', ${UNDECLARED}; add task.changed with its handler to 'events.handles'`,
    ],
    [
      "the kernel's durable one",
      "this.context.events.handle('user.message', () => {});",
      `main.ts:5 listens to 'user.message', ${UNDECLARED}; add user.message with its handler to 'events.handles'`,
    ],
  ])('finds %s', async (_what, body, message) => {
    const head = `${TOKENS} const NAME = 'notify';`;
    expect(await said(body, '', { ...CONTRACT, head })).toEqual([message]);
  });

  it('finds what another file publishes, with a name that was meant', async () => {
    const files = {
      'work.ts': "export const work = (context) =>\n  context.events.publish('notify', {});\n",
      head: "import { work } from './work.ts';",
    };
    expect(await said('work(this.context);', 'events: { publishes: [notifi] }', files)).toEqual([
      `work.ts:2 publishes 'notify', ${UNDECLARED} (did you mean 'notifi'?); add notify to 'events.publishes'`,
    ]);
  });

  it.each([
    [
      'what is declared',
      "this.context.events.publish('notify', {}); this.context.events.publish(own, {}); this.context.events.handle(made, () => {});",
    ],
    [
      'what an extension publishes of itself',
      "this.context.events.publish('service.ready', {}); this.context.events.publish('provider.changed', {});",
    ],
    ['what is not written down', "this.context.events.handle('turn.ended', () => {}); this.context.events.handle(own, () => {});"],
    [
      'strings, comments and patterns',
      "console.log(\"events.publish('turn.ended', {})\", /events.publish\\('turn.ended'/); // events.publish('turn.ended', {})",
    ],
    ['a name that is chosen', "this.context.events.publish(Math.random() > 2 ? 'turn.ended' : 'notify', {});"],
    ['a variable of the same name', "const own = 'notify'; const send = (made) => this.context.events.publish(made, {}); send(own);"],
    ['a variable that is set again', 'TOPIC = TOPIC + 1; this.context.events.publish(TOPIC, {});'],
    ['another object', "this.context.bus.publish('turn.ended', {});"],
  ])('says nothing of %s', async (_what, body) => {
    const manifest =
      'defines: { topics: { two.own: { durable: false } } }\nevents: { publishes: [notify], handles: [{ topic: task.changed, handler: on }] }';
    expect(await said(body, manifest, { ...CONTRACT, head: `${TOKENS} let TOPIC = 'turn.ended';` })).toEqual([]);
  });

  it('is not sure of an extension with a `publish` of its own', async () => {
    const head = 'class Own { publish(name) { return name; } } const events = new Own();';
    expect(await said("events.publish('turn.ended');", '', { head })).toEqual([]);
  });

  it.each([
    ['a broken manifest', 'events: {', ''],
    ['broken source', '', 'const = 4;'],
    [
      'an import from elsewhere',
      '',
      "import x from '../../secret.ts'; import y from './gone.ts'; import z from '/etc/passwd'; console.log(x, y, z);",
    ],
  ])('leaves %s to the other checks', async (_what, manifest, head) => {
    expect(await said('', manifest, { head })).toEqual([]);
  });

  it('passes what ships', async () => {
    const ids = ['skill_registry', 'scheduler', 'task_engine', 'skill_triggers', 'cli_channel'];
    const found = ids.map(async (id) => {
      const folder = path.join(SHIPPED, 'extensions', id);
      return eventFindings(folder, await readSources(folder), { sandbox: NOWHERE, shippedSandbox: SHIPPED });
    });
    expect((await Promise.all(found)).flat()).toEqual([]);
  });
});
