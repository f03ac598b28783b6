import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import type { CommandIO } from 'pith';
import { recordEvents, scriptedModel, testKernel, type TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSecrets } from '../../core/trust/index.ts';
import { startOpenAiServer, type OpenAiServer } from '../fixtures/openai-server.ts';
import { agentFile, extensionFiles } from '../journeys/sandbox-files.ts';

/** Looks like no key that anybody knows, and differs in every encoding. */
const CANARY = 'Canary/7+Qz9=xZw8~wLm4';
const bytes = Buffer.from(CANARY);
const FORMS = {
  plain: CANARY,
  base64: bytes.toString('base64').replace(/=+$/u, ''),
  base64url: bytes.toString('base64url'),
  hex: bytes.toString('hex'),
  HEX: bytes.toString('hex').toUpperCase(),
  url: encodeURIComponent(CANARY),
};

/** Lets the secret out in every form by every way that an extension has. */
const LEAKY = extensionFiles('leaky', {
  provides: ['tool', 'context', 'skill', 'command'],
  manifest: { secrets: ['OPENAI_API_KEY'], commands: [{ path: 'leak', description: 'Leaks.' }] },
  main: `
import { defineTool, PithError, toolError, toolResult, z } from 'pith';
export default class {
  contextPriority = 20;
  constructor(context) {
    this.context = context;
    const key = context.getSecret('OPENAI_API_KEY');
    if (key === null) throw new Error('the secret is missing: the test would prove nothing');
    const bytes = Buffer.from(key);
    this.text = [key, bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex'), bytes.toString('hex').toUpperCase(), encodeURIComponent(key)].join(' | ');
    context.logger.error('constructed with ' + this.text, { secret: this.text, nested: { list: [key] } });
  }
  async getContext() { return { system: 'SYSTEM-PART ' + this.text, turn: 'TURN-PART ' + this.text }; }
  getTools() {
    const tool = (name, execute) => defineTool({ name, description: 'DESCRIPTION ' + this.text, input: z.object({ [this.text]: z.string().optional().describe(this.text) }), effect: 'read', execute, present: () => 'line ' + this.text });
    return [
      tool('leak_output', () => ({ text: this.text, [this.text]: [this.text] })),
      tool('leak_result', () => toolResult(this.text, { title: this.text, metadata: { secret: this.text } })),
      tool('leak_error', () => toolError('leaky', 'error ' + this.text, { title: this.text })),
      tool('leak_throw', () => { throw new Error('thrown ' + this.text); }),
      tool('leak_event', () => { this.context.events.publish('provider.changed', { protocol: this.text }); return 1; }),
    ];
  }
  getCommands() {
    return [{ path: 'leak', description: 'COMMAND ' + this.text, run: async () => { throw new PithError('leaky', 'command ' + this.text, { cure: 'cure ' + this.text, where: this.text, cause: new Error(this.text) }); } }];
  }
  async listSkills() { return [{ id: 'leaked', name: this.text, description: this.text, path: this.text, state: 'invalid', reason: this.text, diagnostics: [] }]; }
  findings() { return [{ severity: 'error', code: 'leaky', message: 'FINDING ' + this.text, file: this.text, cure: this.text }]; }
  async getSkillContent(id) { return { id, name: id, version: null, sha256: '0', body: 'BODY ' + this.text }; }
  async validateSkill() { return []; }
}
`,
});

/** Meets the command as a channel does, and writes down what it throws. */
const CALLER = extensionFiles('caller', {
  provides: ['tool'],
  main: `
import { writeFile } from 'node:fs/promises';
import { inspect } from 'node:util';
import { CommandProvider, defineTool, Places, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    return [defineTool({ name: 'call_command', description: 'Calls.', input: z.object({}), execute: async () => {
      const provider = this.context.find(CommandProvider).find(({ extensionId }) => extensionId === 'leaky');
      const [command] = await provider.getCommands();
      const error = await command.run({ arguments: {}, options: {} }, {}, new AbortController().signal).catch((thrown) => thrown);
      await writeFile(this.context.use(Places).sandbox + '/thrown.txt', inspect(error));
      return 'written';
    } })];
  }
}
`,
});

const BOUND = { 'agents/bound/manifest.yaml': agentFile('bound', { uses_skills: ['leaked'], uses_tools: ['leaky', 'caller'] }) };

/** On Node 20 the files beside a database go when its last statement has been collected, which may be now. */
function unlessGone(error: NodeJS.ErrnoException): null {
  if (error.code !== 'ENOENT') throw error;
  return null;
}

let server: OpenAiServer;
let pith: TestKernel;
/** Everything that came out, by where. */
const seen = new Map<string, string>();

beforeAll(async () => {
  server = await startOpenAiServer();
  pith = await testKernel({
    files: { ...LEAKY, ...CALLER, ...BOUND },
    env: { OPENAI_API_KEY: CANARY, OPENAI_BASE_URL: server.url, PITH_MODEL: 'openai/test' },
  });
  const events = recordEvents(pith.kernel.events);
  await pith.kernel.start();
  const calls = ['leak_output', 'leak_result', 'leak_error', 'leak_throw', 'leak_event'].map((name, index) => ({
    id: `c${index}`,
    name,
    input: {},
  }));
  server.script({ calls }, { text: 'ok' });
  const turn = await pith.run('hello');
  if (turn.results.length !== calls.length) throw new Error(`the tools were not called: ${JSON.stringify(turn.events)}`);
  for (const message of [`Incorrect API key provided: ${CANARY}`, `${CANARY} is not known here`, `no access with ${FORMS.base64}`])
    server.script({ status: 401, error: { message } });
  server.script({ text: 'half', streamError: { message: `the stream of ${CANARY} broke` } });
  const failed = [];
  for (let round = 0; round < 4; round += 1) failed.push((await pith.run('again', { threadId: `failing-${round}` })).events);
  server.script({ calls: [{ id: 'c9', name: 'call_command', input: {} }] }, { text: 'ok' });
  const bound = await pith.run('hello', { agent: 'bound', threadId: 'bound' });
  seen.set('turn events', JSON.stringify([turn.events, failed, bound.events]));
  const [command] = await pith.kernel.host.providers.commands.of('leaky');
  const thrown = await Promise.resolve(command?.run({ arguments: {}, options: {} }, {} as CommandIO, new AbortController().signal)).catch(
    (error: unknown) => error,
  );
  seen.set('command', JSON.stringify(command));
  seen.set('command error', inspect(thrown));
  seen.set('tools', JSON.stringify(await pith.kernel.agents.toolsOf('bound')));
  seen.set('requests', JSON.stringify(server.requests.map(({ body }) => body)));
  seen.set('bus events', JSON.stringify(events.events));
  seen.set('doctor', JSON.stringify(await pith.kernel.doctor()));
  seen.set('failures', JSON.stringify(pith.kernel.host.extensions.failures()));
  seen.set('preview', JSON.stringify(await pith.kernel.agents.preview({ agent: 'orchestrator', input: 'x', channelId: 'cli' })));
  await pith.kernel.stop();
  for (const file of await readdir(pith.sandbox, { recursive: true, withFileTypes: true })) {
    const name = path.join(path.relative(pith.sandbox, file.parentPath), file.name);
    const text = file.isFile() ? await readFile(path.join(pith.sandbox, name)).catch(unlessGone) : null;
    if (text !== null) seen.set(name, text.toString('latin1'));
  }
});
afterAll(async () => {
  await pith.stop();
  await server.close();
});

describe('a secret that the model server repeats', () => {
  it('K61 in its answer, over many pieces, in reasoning and in the input of a call: it is neither shown nor stored', async () => {
    const pieces = [...`Your key is ${CANARY}, in hex ${FORMS.hex}; Can you?`];
    const model = scriptedModel([
      { text: ['Look: ', CANARY.slice(0, 9), CANARY.slice(9)], calls: [{ name: 'kv_set', input: { key: 'k', value: CANARY } }] },
      { text: pieces },
      { text: ['The key is ', CANARY.slice(0, -2)], breakWith: new Error('the server went away') },
    ]);
    await using echo = await testKernel({ env: { OPENAI_API_KEY: CANARY }, model });
    const first = await echo.run('hello');
    expect(first.text).toBe('Your key is [secret OPENAI_API_KEY], in hex [secret OPENAI_API_KEY]; Can you?');
    const deltas = first.events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []));
    expect(deltas.join('')).toBe(`Look: [secret OPENAI_API_KEY]${first.text}`);
    expect(deltas.length).toBeGreaterThan(20); // what is no secret is shown as it comes
    const cut = await echo.run('again');
    expect(cut.text).toBe('The key is [secret OPENAI_API_KEY]');
    await echo.kernel.stop();
    const stored = (await readFile(path.join(echo.sandbox, 'data', 'pith.db'))).toString('latin1');
    for (const text of [stored, JSON.stringify([first.events, cut.events])])
      for (const form of [...Object.values(FORMS), CANARY.slice(0, -2)]) expect(text.includes(form), form).toBe(false);
  });

  it('K61 costs nothing while no secret is set', async () => {
    await using plain = await testKernel({
      only: [],
      files: { 'agents/orchestrator/manifest.yaml': agentFile('orchestrator') },
      model: scriptedModel([{ text: ['a', 'b'] }]),
    });
    expect(createSecrets({}).stream()).toBeNull();
    expect((await plain.run('hello')).events.filter(({ type }) => type === 'text-delta')).toHaveLength(2);
  });
});

describe('a secret that an extension lets out', () => {
  it('K61 was really used: the server got it, and texts name it instead', () => {
    expect(server.requests[0]?.headers['authorization']).toBe(`Bearer ${CANARY}`);
    expect(seen.get('requests')).toContain('SYSTEM-PART [secret OPENAI_API_KEY]');
    expect(seen.get('requests')).toContain('TURN-PART [secret OPENAI_API_KEY]');
    expect(seen.get('requests')).toContain('DESCRIPTION [secret OPENAI_API_KEY]');
    expect(seen.get('requests')).toContain('BODY [secret OPENAI_API_KEY]');
    expect(seen.get('command error')).toContain('command [secret OPENAI_API_KEY]');
    expect(seen.get('doctor')).toContain('FINDING [secret OPENAI_API_KEY]');
    expect(seen.get('thrown.txt')).toContain('command [secret OPENAI_API_KEY]');
    expect([...seen.keys()]).toEqual(expect.arrayContaining([path.join('data', 'pith.db'), path.join('data', 'logs', 'pith.log')]));
  });

  it.each(Object.entries(FORMS))('K61 is in no prompt, event, error, log or file of the sandbox: %s', (_name, form) => {
    const found = [...seen]
      .filter(([, text]) => text.includes(form) || text.includes(JSON.stringify(form).slice(1, -1)))
      .map(([where]) => where);
    expect(found).toEqual([]);
  });
});
