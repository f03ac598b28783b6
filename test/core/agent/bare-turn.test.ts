import { createAgents } from '../../../core/agent/index.ts';
import type { TurnEvent } from '../../../core/contract/index.ts';
import { systemClock } from '@pith/promises';
import { scriptedModel } from 'pith/testing';
import { expect, it } from 'vitest';
import { bareHost } from '../kernel/bare-host.ts';
import { toolClass } from '../kernel/extensions.ts';
import { extension } from '../declarations/sandbox-folder.ts';
import { storesInMemory } from './threads/in-memory.ts';
import { words } from '../../words.ts';

/** Agents on a bare host whose model follows the script, with threads in memory. */
function agentsOf(
  { host, events, directory }: Awaited<ReturnType<typeof bareHost>>,
  { model }: Pick<ReturnType<typeof scriptedModel>, 'model'>,
  mayChangePith?: (userId: string) => boolean,
) {
  const resolved = { ref: 'scripted/scripted', why: 'test', model, contextWindow: null };
  const stores = storesInMemory();
  return createAgents({
    host,
    models: { resolve: async () => resolved, isAlias: () => true, providerOf: () => null, price: () => null, check: () => 'default' },
    stores: () => stores,
    events,
    clock: systemClock,
    sandboxDir: directory,
    ...(mayChangePith && { mayChangePith }),
  });
}

it('a bare agent turn: the kernel, agents and a scripted model, without a database, processes, a command line or what ships', async () => {
  const bare = await bareHost({
    ...extension('it'),
    'extensions/it/main.ts': `import { defineTool, z } from 'pith';\n${toolClass("return 'worked';").replace('async execute(input, call)', 'execute: async (input, call) =>')}`,
    'agents/main/manifest.yaml': 'id: main\nversion: 1.0.0\nagent: { uses_tools: [it], instructions: Be brief. }\n',
  });
  const script = scriptedModel([{ calls: [{ name: 'work', input: {} }] }, { text: 'done' }, { text: 'again' }]);
  const agents = agentsOf(bare, script);
  const run = async (input: string) => {
    const seen: TurnEvent[] = [];
    for await (const event of agents.run({ agent: 'main', threadId: 't', input })) seen.push(event);
    return seen;
  };
  const types = words('turn-start tool-call tool-result step-end text-delta step-end turn-end');
  expect((await run('go')).map(({ type }) => type)).toEqual(types);
  expect((await run('and now?')).at(-1)).toMatchObject({ reason: 'done', text: 'again' });
  expect(script.requests[2]).toMatchObject({ system: 'Be brief.' });
  expect(script.requests[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  await bare.host.stop();
  expect(bare.host.extensions.failures()).toEqual([]);
});

it('W5 a tool that changes this Pith runs only while the user of the turn may have it called', async () => {
  const bare = await bareHost({
    ...extension('it'),
    'extensions/it/main.ts': `import { defineTool, z } from 'pith';
export default class {
  getTools() {
    const tool = (name, permission) => defineTool({ name, description: name, input: z.object({}), permission, execute: async () => name + ' ran' });
    return [tool('change', { calling: 'admin' }), tool('look', {})];
  }
}
`,
    'agents/main/manifest.yaml': 'id: main\nversion: 1.0.0\nagent: { uses_tools: [it], instructions: Be brief. }\n',
  });
  let admin = 'ada';
  const both = { calls: words('change look').map((name) => ({ name, input: {} })) };
  const lost = () => ((admin = 'eve'), both); // while the model answers
  const script = scriptedModel([both, lost, { text: 'done' }, both, { text: 'done' }]);
  const agents = agentsOf(bare, script, (userId) => userId === admin);
  const run = async (threadId: string) => {
    const seen: unknown[] = [];
    for await (const event of agents.run({ agent: 'main', threadId, userId: 'ada', input: 'go' }))
      if (event.type === 'tool-result') seen.push(event.ok ? event.output : event.error?.code);
    return seen;
  };
  expect(await run('first')).toEqual(['change ran', 'look ran', 'not_allowed', 'look ran']);
  expect(await run('second')).toEqual(['tool_unknown', 'look ran']);
  expect(script.requests.map(({ tools }) => tools.length)).toEqual([2, 2, 2, 1, 1]);
  await bare.host.stop();
});
