import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { scriptedModel, type ScriptedModel, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { answered } from '../../answers.ts';
import { inProcesses, main, manifest } from './extension.ts';

const ASKER = { 'agents/asker/manifest.yaml': 'id: asker\nagent: {}\n' };

/** Its code shows where a template with `trim` is rendered. */
const TELLS = `String.prototype.trim = function () { return 'rendered in ' + process.pid; };`;
const PRINTS = '{{ user | trim }}';

/** A turn of an agent that it gives, as often as its context is asked for from outside of it. */
const runs = (request: string): string => `
  contextPriority = 50;
  async getContext(prompt, turn) {
    if (turn.agent.id !== 'asker') return null;
    for await (const event of this.context.agents.run({ threadId: 'weather:' + turn.id, input: 'hi', ...${request} }))
      if (event.type === 'turn-end') return 'inner: ' + (event.error ? event.error.code + ' ' + event.error.message : event.text);
    return 'inner: nothing';
  }`;

const SPEC = `{ id: 'weather', name: 'W', description: 'd', model: 'default', integrationMode: 'none', instructions: '', promptFile: null,
  usesTools: [], usesSkills: [], delegatesTo: [], limits: { max_turns: 2, max_tool_calls: 2, max_tokens: 1000, time_budget_ms: 60000 }, keys: {}, origin: null`;

/** Its context, which says nothing. */
const SILENT = 'contextPriority = 50; async getContext() { return null; }';

interface Weather {
  /** Beside its manifest; absent: it is no agent. */
  readonly prompt?: string;
  readonly agent?: object;
  readonly body?: string;
  /** What its code does when it is imported. */
  readonly head?: string;
}

/** A kernel with the extension `weather`, and the agent `asker`. */
function open({ prompt, agent = {}, body = SILENT, head }: Weather, model: ScriptedModel, options: TestKernelOptions = {}) {
  const provides = body.includes('getTools') ? ['tool'] : ['context'];
  const files = {
    ...manifest('weather', { provides, ...(prompt !== undefined && { agent }) }),
    ...(prompt !== undefined && { 'extensions/weather/prompt.jinja2': prompt }),
    ...main('weather', body, head),
  };
  return inProcesses({ model, ...options, files: { ...ASKER, ...files, ...options.files } });
}
const ask = (test: TestKernel) => test.run('hello', { agent: 'asker' });

describe('a prompt that an extension brings', () => {
  const canary = path.join(os.tmpdir(), `pith-weather-${process.pid}`);
  afterEach(() => rm(canary, { force: true }));
  const code = `process.getBuiltinModule("fs").writeFileSync(${JSON.stringify(canary)},process.pid+"")`;
  const hostile = [
    `{% set a"&Function\`${[...code].map((each) => `\\x${each.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')}\`\`\`&"b = 1 %}`,
    String.raw`{{ agent['\\"+(` + code.replaceAll('"', '`') + String.raw`), context, [])),0,3), env.opts.autoescape);//']() }}`,
  ];

  const given = (prompt: string): Weather => ({ body: runs(`{ agent: ${SPEC}, prompt: ${JSON.stringify(prompt)} } }`) });
  it.each([
    [
      'T9 F1: runs no code in the kernel, as the attack on weather did',
      (prompt: string): Weather => ({ prompt, body: runs(`{ agent: 'weather' }`) }),
    ],
    ['T9 F1: nor as the prompt of an agent that it passes', given],
  ])('%s', async (_, weather) => {
    for (const prompt of hostile) {
      const model = scriptedModel([{ text: 'outer' }]);
      const test = await open(weather(prompt), model);
      expect(await ask(test)).toMatchObject({ reason: 'done', text: 'outer' });
      expect(existsSync(canary), prompt).toBe(false);
      expect(model.requests[0]?.system).toMatch(/inner: (agent_failed|prompt_invalid) /);
    }
  });

  it('T9: is rendered in its own process: the one beside its manifest', async () => {
    const model = scriptedModel([{ text: 'sunny' }]);
    const body = `contextPriority = 50; async getContext() { return 'context of ' + process.pid; }`;
    const test = await open({ prompt: `${PRINTS} {{ agent.name }} {{ date }}`, agent: { uses_skills: [] }, body, head: TELLS }, model);
    expect(await test.run('hello', { agent: 'weather' })).toMatchObject({ reason: 'done' });
    const system = model.requests[0]?.system ?? '';
    const [, pid] = /rendered in (\d+) weather \d{4}-\d\d-\d\d/.exec(system) ?? [];
    expect(Number(pid)).not.toBe(process.pid);
    expect(system).toContain(`context of ${pid}`);
    const preview = await test.kernel.agents.preview({ agent: 'weather', input: 'hello' });
    expect(preview.system).toContain(`rendered in ${pid}`);
  });

  it('T9: is rendered in its own process: the one of an agent that it passes, whoever it says brought it', async () => {
    const model = scriptedModel([{ text: 'sunny' }, { text: 'outer' }]);
    const body = runs(`{ agent: ${SPEC}, prompt: ${JSON.stringify(PRINTS)}, promptBy: 'asker' } }`);
    const test = await open({ body, head: TELLS }, model);
    await ask(test);
    expect(model.requests[0]?.system).toMatch(/^rendered in \d+$/);
    expect(model.requests[0]?.system).not.toBe(`rendered in ${process.pid}`);
    expect(model.requests[1]?.system).toContain('inner: sunny');
  });

  it('T9: is rendered there too when the turn is continued after a restart', async () => {
    const model = scriptedModel([{ calls: [{ name: 'wait', input: {} }] }, { text: 'sunny' }]);
    const body = `getTools() { return [defineTool({ name: 'wait', description: 'd', input: z.object({}), needsApproval: true, execute: () => 'waited' })]; }`;
    const test = await open({ prompt: PRINTS, agent: { uses_tools: ['weather'] }, body, head: TELLS }, model);
    expect(await test.run('hello', { agent: 'weather' })).toMatchObject({ reason: 'awaiting_approval' });
    await test.restart();
    expect(await answered(test, 'once', { agent: 'weather' })).toMatchObject({ reason: 'done', text: 'sunny' });
    expect(model.requests[1]?.system).toMatch(/^rendered in \d+$/);
    expect(model.requests[1]?.system).not.toBe(`rendered in ${process.pid}`);
  });

  it('T9: fails the turn with the reason where its process cannot be started', async () => {
    const model = scriptedModel([]);
    const test = await open({ prompt: PRINTS, head: `throw new Error('it rains');` }, model);
    const { reason, error } = await test.run('hello', { agent: 'weather' });
    expect(reason).toBe('error');
    expect(error?.message).toContain('it rains');
    expect(model.requests).toHaveLength(0);
  });

  it.each([
    ['no text', `process.pid && ({ length: 1 })`],
    ['a text that is too long', `'x'.repeat(1024 * 1024 + 1)`],
  ])('T9: is %s where its process says so, and the turn fails', async (_, says) => {
    const head = `const join = Array.prototype.join; Array.prototype.join = function (by) { return String(this[0]).startsWith('someone') ? ${says} : join.call(this, by); };
         String.prototype.trim = function () { return 'someone'; };`;
    const test = await open({ prompt: PRINTS, head }, scriptedModel([]));
    expect(await test.run('hello', { agent: 'weather' })).toMatchObject({
      reason: 'error',
      error: { code: 'prompt_invalid', message: expect.stringContaining('answered with no text, or with one that is too long') as string },
    });
  });

  it.skipIf(process.env['PITH_TEST_LONG'] !== '1')('T9: ends the process that never answers, and the turn with it', async () => {
    const head = `String.prototype.trim = function () { if (this == 'tester') for (;;); return this.replace(/x/, 'x'); };`;
    const test = await open({ prompt: PRINTS, head }, scriptedModel([]));
    expect(await test.run('hello', { agent: 'weather' })).toMatchObject({ reason: 'error', error: { code: 'prompt_invalid' } });
  });

  it('T9: gets places for skills and never their bodies', async () => {
    const model = scriptedModel([{ text: 'sunny' }]);
    const files = { 'skills/clouds/SKILL.md': '---\nname: clouds\ndescription: What clouds are\n---\nClouds are water.\n' };
    const prompt = "{{ skills['clouds'] | trim }}{{ skills['clouds'] }}";
    const head = `String.prototype.trim = function () { return 'length ' + this.length + (this.includes('water') ? ' with the body' : ' of a place') + '|'; };`;
    const test = await open({ prompt, agent: { uses_skills: ['clouds'] }, head }, model, { only: undefined, files });
    await test.run('hello', { agent: 'weather' });
    expect(model.requests[0]?.system).toMatch(/length \d{1,3} of a place\|<skill id="clouds"/);
    expect(model.requests[0]?.system).toContain('Clouds are water.');
  });

  it('T9: is rendered by the kernel where a person let the extension in', async () => {
    const model = scriptedModel([{ text: 'sunny' }]);
    const test = await open({ prompt: '{{ user | upper }}' }, model, { isolation: 'in_process' });
    await test.run('hello', { agent: 'weather' });
    expect(model.requests[0]?.system).toBe('LOCAL');
  });
});
