import { recordEvents, type TestKernel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { kernelOf } from '../../places.ts';

let test: TestKernel;

const signal = new AbortController().signal;

const files = {
  'extensions/moving/manifest.yaml': 'id: moving\nentrypoint: main.ts\nprovides: [tool]\n',
  'extensions/moving/main.ts': `
import { defineTool, z } from 'pith';
export default class {
  constructor(context) { this.context = context; this.names = ['one']; }
  getTools() {
    const add = defineTool({ name: 'add', description: 'Adds a tool.', input: z.object({ name: z.string() }),
      execute: ({ name }) => { this.names.push(name); this.context.events.publish('provider.changed', { protocol: 'tool' }); return this.names.length; } });
    return [add, ...this.names.map((name) => defineTool({ name, description: 'A tool.', input: z.looseObject({}),
      inputSchema: { type: 'object', properties: { deep: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'integer' } } }, execute: (input) => ({ name, input }) }))];
  }
}
`,
};

const call = (name: string, input: object) =>
  test.kernel.host.providers.tools.call('moving', name, input as never, { turn: {} as never, idempotencyKey: 'k', signal: signal });
const names = async () => (await test.kernel.host.providers.tools.of('moving')).map(({ name }) => name);

describe('provider.changed of tools', () => {
  it('the tools of a running extension are asked for again, and what is new can be called', async () => {
    test = await kernelOf({ only: [], files });
    expect(await names()).toEqual(['add', 'one']);
    expect(await call('add', { name: 'two' })).toMatchObject({ ok: true });
    await expect.poll(names).toEqual(['add', 'one', 'two']);
    expect(await call('two', { deep: 1 })).toMatchObject({ ok: true, output: { name: 'two', input: { deep: 1 } } });
  });

  it('tools that cannot be offered leave the former ones, and the failure is told', async () => {
    test = await kernelOf({ only: [], files });
    await names();
    const events = recordEvents(test.kernel.events);
    await call('add', { name: 'no tool can be named so' });
    await expect.poll(() => events.of('extension.failed').length).toBe(1);
    expect(await names()).toEqual(['add', 'one']);
    expect(await call('one', {})).toMatchObject({ ok: true });
  });

  it('a tool may carry a JSON Schema of its own, which the model is told as it is', async () => {
    test = await kernelOf({ only: [], files });
    const [, one] = await test.kernel.host.providers.tools.of('moving');
    expect(one?.inputSchema).toEqual({ type: 'object', properties: { deep: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'integer' } } });
  });
});
