import { scriptedModel, testKernel, type TestKernel } from 'pith/testing';
import { expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import type { Command, CommandIO } from '../../../core/contract/index.ts';
import { until } from '../../waiting.ts';

const FILES = {
  'pith.yaml': 'default_agent: main\n',
  'agents/main/manifest.yaml': 'id: main\nagent: { uses_tools: [speaker] }\n',
  'extensions/speaker/manifest.yaml': JSON.stringify({
    id: 'speaker',
    entrypoint: 'main.ts',
    isolation: 'in_process',
    provides: ['tool', 'service'],
    events: { publishes: ['notify'] },
  }),
  'extensions/speaker/main.ts': `import { defineTool, z } from 'pith';
    export default class {
      constructor(context) { this.context = context; }
      start() { this.started = true; }
      getTools() { return [defineTool({ name: 'tell', description: 'Tells', input: z.object({}), execute: async () => {
        await this.context.events.publish('notify', { v: 1, text: 'told', kind: 'info', target: null, threadId: null, userId: null });
        return this.started ? 'started' : 'not started';
      } })]; }
      async runBackground(signal) { globalThis.speakerServes = true; await new Promise((resolve) => signal.addEventListener('abort', resolve)); }
    }`,
  'extensions/hearer/manifest.yaml': JSON.stringify({
    id: 'hearer',
    entrypoint: 'main.ts',
    isolation: 'in_process',
    events: { handles: [{ topic: 'notify', handler: 'heard' }] },
  }),
  'extensions/hearer/main.ts': `export default class { heard({ text }) { (globalThis.heard ??= []).push(text); } }`,
};

const seen = globalThis as { speakerServes?: boolean; heard?: string[] };

it('chat -p starts what its turn uses and no more; what it publishes durably is delivered by the next process that starts all', async () => {
  const turn = [{ calls: [{ name: 'tell', input: {} }] }, { text: 'done' }];
  const model = scriptedModel([...turn, ...turn]);
  await using pith = await testKernel({ model, files: FILES, commands: kernelCommands });
  await pith.kernel.start('used');
  expect(await chat(pith, 'go')).toBe(0); // a first run loads extensions to learn what they offer
  await pith.restart();
  await pith.kernel.start('used');
  expect(await chat(pith, 'go')).toBe(0);
  expect(JSON.stringify(model.requests.at(-1))).toContain('"started"');
  for (const id of ['extension_builder', 'mcp', 'recipes', 'scheduler', 'hearer'])
    expect(pith.kernel.host.extensions.state(id), id).toBe('idle');
  expect(seen).not.toHaveProperty('speakerServes');
  expect(seen).not.toHaveProperty('heard');
  await pith.restart();
  await pith.kernel.start();
  await until(() => expect(seen.heard).toEqual(['told', 'told']));
  expect(seen.speakerServes).toBe(true);
});

async function chat({ kernel }: TestKernel, prompt: string): Promise<number | void> {
  const command = (await kernel.host.providers.commands.of('cli_channel')).find(({ path }) => path === 'chat') as Command;
  const io = { print: () => undefined, error: () => undefined, interactive: false, wantsJson: false, quiet: true } as unknown as CommandIO;
  return command.run({ arguments: {}, options: { prompt } }, io, new AbortController().signal);
}
