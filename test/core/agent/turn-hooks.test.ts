import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scriptedModel, type ScriptedStep, testKernel } from 'pith/testing';
import { agent, call, createWorld } from './world.ts';

const WATCHER = `import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { defineTool, toolResult, z } from 'pith';
export default class {
  contextPriority = 50;
  constructor(context) { this.context = context; }
  note(what, turn) {
    appendFileSync(path.join(this.context.dataDirectory, 'seen'), JSON.stringify([what, turn.held.map(({ key }) => key)]) + '\\n');
  }
  beginTurn(turn) { this.note('begin', turn); }
  endTurn(turn, reason) { this.note(reason, turn); throw new Error('costs nothing'); }
  async getContext(prompt, turn) { this.note('context', turn); return null; }
  getTools() {
    const tool = (name, needsApproval) => defineTool({ name, description: 'Keeps.', input: z.object({}), effect: 'read', needsApproval, execute: (_, { turn }) => {
      this.note(name, turn);
      return toolResult('the whole text', { retain: { key: 'text', digest: 'd1' } });
    } });
    return [tool('keep', false), tool('ask', true)];
  }
}
`;

const files = {
  'extensions/watcher/manifest.yaml': 'id: watcher\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [turn, context, tool]\n',
  'extensions/watcher/main.ts': WATCHER,
  'agents/main/manifest.yaml': 'id: main\nversion: 1.0.0\nagent: { uses_tools: [watcher] }\n',
};

async function watched(script: readonly ScriptedStep[], isolation: 'in_process' | 'process' = 'in_process') {
  const test = await testKernel({ files, only: [], isolation, flags: { default_agent: 'main' }, model: scriptedModel(script) });
  onTestFinished(() => test.stop());
  const seen = async () => {
    const text = await readFile(path.join(test.sandbox, 'data/extensions/watcher/seen'), 'utf8');
    return JSON.parse(`[${text.trim().replaceAll('\n', ',')}]`) as readonly (readonly [what: string, held: readonly string[]])[];
  };
  return { test, seen };
}

describe('a provider of turns', () => {
  it.each(['in_process', 'process'] as const)(
    'K45 is told once where a turn begins and how it ends, and what the conversation holds: %s',
    async (isolation) => {
      const { test, seen } = await watched([call('keep'), call('keep'), { text: 'done' }, { text: 'again' }], isolation);
      expect((await test.run('go')).reason).toBe('done');
      await test.run('more');
      expect(await seen()).toEqual([
        ['begin', []],
        ['context', []],
        ['keep', []],
        ['keep', ['text']],
        ['done', ['text']],
        ['begin', ['text']],
        ['context', ['text']],
        ['done', ['text']],
      ]);
    },
  );

  it('K45 K50 is told that a turn waits for a person, and of its beginning again when it goes on after a restart', async () => {
    const { test, seen } = await watched([call('ask'), { text: 'done' }]);
    expect((await test.run('go')).reason).toBe('awaiting_approval');
    await test.restart();
    const [question] = await test.kernel.approvals.list();
    await test.kernel.approvals.answer(question!.id, { answer: 'once', by: 'local' });
    expect((await test.run('', { resume: true })).reason).toBe('done');
    const order = 'begin context awaiting_approval begin context ask done';
    expect((await seen()).map(([what]) => what).join(' ')).toBe(order);
  });

  it('K45 is told of the end when the turn fails or is stopped', async () => {
    const { test, seen } = await watched([{ error: new Error('no') }, { text: 'never', hang: true }]);
    expect((await test.run('go')).reason).toBe('error');
    const stop = new AbortController();
    for await (const event of test.kernel.agents.run({ agent: 'main', threadId: 'other', input: 'go' }, stop.signal))
      if (event.type === 'text-delta') stop.abort();
    const order = 'begin context error begin context aborted';
    expect((await seen()).map(([what]) => what).join(' ')).toBe(order);
  });

  it('K45 is told of the beginning by the process that goes on after a kill, also where it serves no part of the turn', async () => {
    const agents = [agent('main', { usesTools: ['ext'] })];
    const extensions = { ext: { tools: { work: {} } }, other: { tools: { rest: {} } } };
    const both = (what: string) => ['ext', 'other'].map((id) => [what, id, []]);
    const first = await createWorld({ agents, extensions, script: [call('work'), { text: 'never', hang: true }] });
    await first.dies({ input: 'do it' });
    expect(first.hooks).toEqual(both('begin'));
    const second = await createWorld({ agents, extensions, script: [call('work'), { text: 'done now' }], sandbox: first.sandbox });
    expect((await second.resume()).text).toBe('done now');
    expect(second.hooks).toEqual([...both('begin'), ...both('done')]);
  });

  it('K45 is loaded and listens before anything else of a turn, though it provides nothing else; a preview loads nothing', async () => {
    const LISTENER = `import { appendFileSync } from 'node:fs';
import path from 'node:path';
export default class {
  constructor({ dataDirectory, events, own }) {
    this.note = (what) => appendFileSync(path.join(dataDirectory, 'heard'), what + '\\n');
    own(events.handle('watched.asked', () => this.note('asked')));
  }
  beginTurn() { this.note('begin'); }
  endTurn(_, reason) { this.note(reason); }
}
`;
    const manifest = 'version: 1.0.0\nentrypoint: main.ts\n';
    const test = await testKernel({
      files: {
        'extensions/listener/manifest.yaml': `id: listener\n${manifest}provides: [turn]\ndepends_on: [watched]\n`,
        'extensions/listener/main.ts': LISTENER,
        'extensions/watched/manifest.yaml': `id: watched\n${manifest}provides: [context]\ndefines: { topics: { watched.asked: {} } }\n`,
        'extensions/watched/main.ts': `export default class {
  contextPriority = 1;
  constructor({ events }) { this.events = events; }
  async getContext() { this.events.publish('watched.asked', {}); return null; }
}
`,
        'extensions/broken/manifest.yaml': `id: broken\n${manifest}provides: [turn]\n`,
        'extensions/broken/main.ts': "throw new Error('it is broken');\n",
        'agents/main/manifest.yaml': 'id: main\nversion: 1.0.0\nagent: { description: Main. }\n',
      },
      only: [],
      flags: { default_agent: 'main' },
      model: scriptedModel([{ text: 'done' }]),
    });
    onTestFinished(() => test.stop());
    await test.kernel.agents.preview({ agent: 'main', input: 'go' });
    expect(test.kernel.host.extensions.state('listener')).toBe('idle');
    expect(await test.run('go')).toMatchObject({ reason: 'done', text: 'done' });
    expect(await readFile(path.join(test.sandbox, 'data/extensions/listener/heard'), 'utf8')).toBe('begin\nasked\ndone\n');
  });
});
