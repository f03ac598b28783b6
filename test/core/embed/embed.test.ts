import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createPith, type EmbeddedModel, type PithOptions, type Question } from 'pith/embed';
import { fakeClock, scriptedModel, type ScriptedStep } from 'pith/testing';
import { z } from 'zod';
import { folderWith } from '../../places.ts';
import { skillText } from '../../extensions/skill_registry/skill-sandbox.ts';

async function pithWith(script: readonly ScriptedStep[], options: PithOptions = {}) {
  const model = scriptedModel(script);
  const pith = await createPith({ model: model.model, ...options });
  onTestFinished(() => pith.close());
  return { pith, model };
}

const LETTERS = { 'letters/SKILL.md': skillText({ name: 'letters', description: 'Writes letters. Use for letters.', body: 'Say ahoy.' }) };
const READ = { calls: [{ name: 'read_skill', input: { skill_id: 'letters' } }] };

describe('U40 a program', () => {
  it('gets an answer with a skill of a folder, by events and by the result', async () => {
    const { pith, model } = await pithWith([READ, { text: 'Ahoy!' }], { skills: [folderWith(LETTERS)] });
    const run = pith.run('write a letter');
    const types: string[] = [];
    for await (const event of run) types.push(event.type);
    expect(await run.result).toMatchObject({ status: 'done', text: 'Ahoy!', thread: run.thread, questions: [] });
    expect(types).toEqual(expect.arrayContaining(['turn-start', 'tool-call', 'tool-result', 'text-delta', 'turn-end']));
    expect(JSON.stringify(model.requests[0])).toContain('`letters`');
    expect(JSON.stringify(model.requests[1])).toContain('Say ahoy.');
    expect(await pith.skills()).toMatchObject([{ id: 'letters', state: 'offered' }]);
  });

  it('gives skills as objects, and the text as it comes', async () => {
    const skill = {
      id: 'letters',
      description: 'Writes letters: use for letters.',
      body: 'Say ahoy.',
      files: { 'references/more.md': 'More.' },
    };
    const { pith, model } = await pithWith([READ, { text: 'Ahoy!' }], { skills: [skill] });
    const parts: string[] = [];
    for await (const text of pith.run('write a letter').text) parts.push(text);
    expect(parts.join('')).toBe('Ahoy!');
    expect(JSON.stringify(model.requests[1])).toContain('Say ahoy.');
  });

  it('gives tools: of the AI SDK, and plain functions', async () => {
    const seen: unknown[] = [];
    const script = [
      {
        calls: [
          { name: 'add', input: { a: 2, b: 3 } },
          { name: 'city_time', input: {} },
        ],
      },
      { calls: [{ name: 'add', input: { a: 'two' } }] },
      { text: 'five' },
    ];
    const { pith, model } = await pithWith(script, {
      tools: {
        add: {
          description: 'Adds two numbers.',
          inputSchema: z.object({ a: z.number(), b: z.number() }),
          execute: ({ a, b }: { a: number; b: number }, { abortSignal }: { abortSignal: AbortSignal }) => {
            seen.push([a, b, abortSignal.aborted]);
            return { sum: a + b };
          },
        },
        city_time: () => '12:00',
      },
    });
    const events = [];
    for await (const event of pith.run('add')) events.push(event);
    expect(seen).toEqual([[2, 3, false]]);
    const results = events.flatMap((event) => (event.type === 'tool-result' ? [event] : []));
    expect(results.map(({ name, ok, output }) => [name, ok, output])).toEqual([
      ['add', true, { sum: 5 }],
      ['city_time', true, '12:00'],
      ['add', false, undefined],
    ]);
    expect(JSON.stringify(model.requests[0])).toContain('"required":["a","b"]');
  });

  it('goes on in a thread, and sees what was said', async () => {
    const { pith, model } = await pithWith([{ text: 'Hello Ana.' }, { text: 'Ana.' }]);
    const { thread } = await pith.run('I am Ana').result;
    expect((await pith.run('who am I?', { thread }).result).text).toBe('Ana.');
    expect(JSON.stringify(model.requests[1])).toContain('I am Ana');
    expect(await pith.threads.list()).toMatchObject([{ id: thread, title: 'I am Ana' }]);
    expect(await pith.threads.messages(thread)).toHaveLength(4);
    await pith.threads.remove(thread);
    expect([await pith.threads.list(), await pith.threads.messages(thread)]).toEqual([[], null]);
  });

  it('takes agents as objects, and a sandbox with agents, skills and extensions', async () => {
    const { pith, model } = await pithWith([{ text: 'one' }, { text: 'two' }], {
      agents: [
        { id: 'first', instructions: 'Be the first.' },
        { id: 'second', instructions: 'Be the second.' },
      ],
    });
    await pith.run('hi').result;
    await pith.run('hi', { agent: 'second' }).result;
    expect(model.requests.map((request) => /Be the \w+/.exec(JSON.stringify(request))?.[0])).toEqual(['Be the first', 'Be the second']);

    const sandbox = folderWith({
      'pith.yaml': 'default_agent: writer\n',
      'agents/writer/manifest.yaml': 'id: writer\nagent: { uses_tools: [skill_registry], instructions: Write well. }\n',
      ...Object.fromEntries(Object.entries(LETTERS).map(([name, text]) => [`skills/${name}`, text])),
    });
    const own = await pithWith([{ text: 'Ahoy!' }], { sandbox });
    await own.pith.run('hi').result;
    expect(JSON.stringify(own.model.requests[0])).toMatch(/Write well\.[^]*`letters`|`letters`[^]*Write well\./u);
    expect(existsSync(path.join(sandbox, 'data'))).toBe(false);
  });
});

it('U43 settings are also for what a sandbox puts in the place of what ships', async () => {
  const sandbox = folderWith({
    'extensions/web/manifest.yaml': 'id: web\nprovides: [tool]\nentrypoint: main.ts\nconfig: { tone: plain }\n',
    'extensions/web/main.ts': 'export default class { getTools() { return []; } }\n',
  });
  const { pith } = await pithWith([{ text: 'Ahoy!' }], { sandbox, settings: { extensions: { web: { tone: 'warm' } } } });
  expect((await pith.run('hi').result).text).toBe('Ahoy!');
});

const clockWith = (wrong: object): object => ({ ...fakeClock(), ...wrong });

function circle(): object {
  const schema = { type: 'object', properties: {} };
  return Object.assign(schema, { properties: { again: schema } });
}

it.each([
  ['skills', { skills: ['/nowhere'] }, 'skills: there is no folder /nowhere'],
  ['a sandbox', { sandbox: '/nowhere' }, 'sandbox: there is no folder /nowhere'],
  ['an id', { skills: [{ id: '../up', description: 'd', body: 'b' }] }, "skills: '../up' is not an id"],
  [
    'a file',
    { skills: [{ id: 'a', description: 'd', body: 'b', files: { '../x': '' } }] },
    "the file '../x' of 'a' is outside of the skill",
  ],
  ['a tool', { tools: { one: { description: 'd' } } }, 'tools.one: it has no execute'],
  ['a setting', { settings: { price: {} } }, "did you mean 'prices'?"],
  ['the value of a setting', { settings: { prices: { 'a/b': 'cheap' } } }, 'prices.a/b'],
  ['the name of a tool', { tools: { 'Get weather': () => 1 } }, "tools: 'Get weather' cannot be the name of a tool"],
  ['a schema', { tools: { one: { inputSchema: { type: 'object', if: {} }, execute: String } } }, 'tools.one: its schema cannot be used'],
  ['an option', { skillz: [] }, "createPith: unknown key 'skillz' (did you mean 'skills'?)"],
  ['a model', { model: null }, "createPith: 'model' must be a model"],
  ['a key', { env: { OPENAI_API_KEY: 1 } }, "createPith: 'env.OPENAI_API_KEY' must be a string"],
  ['a limit', { limits: { ms: '1000' } }, "createPith: 'limits.ms' must be a number"],
  ['the name of a limit', { limits: { stepz: 1 } }, "createPith: unknown key 'stepz' in 'limits' (did you mean 'steps'?)"],
  ['a key of a skill', { skills: [{ id: 'a', description: 'd', bodyy: 'b' }] }, "skills[0]: 'body' is missing"],
  ['a key of an agent', { agents: [{ id: 'a', instruction: 'i' }] }, "agents[0]: unknown key 'instruction'"],
  ['letters of an id', { skills: [{ id: 'Letters', description: 'd', body: 'b' }] }, "skills: 'Letters' is not an id"],
  [
    'two skills of one id',
    { skills: [1, 2].map((body) => ({ id: 'a', description: 'd', body: `${body}` })) },
    "skills: 'a' is there twice",
  ],
  ['a setting', { settings: { modelz: {} } }, "settings: unknown key 'modelz' (did you mean 'models'?)"],
  ['sources of skills', { settings: { skills: { sources: {} } } }, 'settings.skills.sources: the option `skills` says that'],
  ['a second model', { model: 'a/b', settings: { models: { default: 'c/d' } } }, 'settings.models.default: the option `model` says that'],
  [
    'a key of a tool',
    { tools: { one: { needApproval: true, execute: String } } },
    "tools.one: unknown key 'needApproval' (did you mean 'needsApproval'?)",
  ],
  [
    'the value of needsApproval',
    { tools: { one: { needsApproval: 'yes', execute: String } } },
    "tools.one: 'needsApproval' must be true, false",
  ],
  ['an effect', { tools: { one: { effect: 'reed', execute: String } } }, "tools.one: 'effect' must be read, idempotent or write"],
  ['a time limit', { tools: { one: { timeoutMs: '5', execute: String } } }, "tools.one: 'timeoutMs' must be a number"],
  ['what is not a tool', { tools: { one: 'two' } }, 'tools.one: it must be'],
  [
    'tools of a class',
    {
      tools: new (class {
        one() {}
      })(),
    },
    "createPith: 'tools' must be a plain object",
  ],
  ['variables as a list', { env: ['A=b'] }, "createPith: 'env' must be"],
  [
    'a store',
    { store: { read: async () => [] } },
    "createPith: 'store' must be 'memory', a folder, or a ThreadLog with the functions read, append",
  ],
  ['a clock', { clock: { now: () => 0 } }, "createPith: 'clock' must be a clock with the functions now, sleep, after"],
  ['a clock without time', { clock: clockWith({ now: () => NaN }) }, 'clock: now must return whole milliseconds since 1970'],
  ['a clock before 1970', { clock: clockWith({ now: () => -1 }) }, 'clock: now must return'],
  ['a clock of dates', { clock: clockWith({ now: () => new Date() }) }, 'clock: now must return'],
  ['a clock of fractions', { clock: clockWith({ now: () => 1.5 }) }, 'clock: now must return'],
  ['a clock whose timers stay', { clock: clockWith({ after: () => null }) }, 'clock: after must return a function that cancels'],
  ['a store below a file', { store: 'package.json/threads' }, 'package.json/threads cannot be written: '],
  ['a store that is a file', { store: 'package.json' }, 'package.json cannot be written: '],
  ['a store that is a device', { store: '/dev/full' }, 'store: /dev/full cannot be written: '],
  ['a store where nobody can write', { store: '/proc/x' }, 'store: /proc/x cannot be written: '],
  ['a store with NUL', { store: 'a\0b' }, 'cannot be written: '],
  ['a sandbox with NUL', { sandbox: 'a\0b' }, 'sandbox: there is no folder'],
  ['a project with NUL', { project: 'a\0b', extensions: ['project_tools'] }, 'project: there is no folder'],
  ['skills with NUL', { skills: ['a\0b'] }, 'skills: there is no folder'],
  ['an extension with NUL', { extensions: ['./a\0b'] }, 'extensions: there is no folder'],
  ['a path that is too long', { skills: ['x'.repeat(5000)] }, 'skills: there is no folder'],
  [
    'what a file of a skill is',
    { skills: [{ id: 'a', description: 'd', body: 'b', files: { 'x.txt': 5 } }] },
    "skills[0]: 'files.x.txt' must be a string or a Uint8Array",
  ],
  [
    'tools that nothing has',
    { settings: { approvals: { tools: ['nothing/here'] } } },
    "settings: approvals.tools: there is no extension 'nothing'",
  ],
  ['settings of an unknown extension', { settings: { extensions: { skill_registri: { a: 1 } } } }, 'skill_registri'],
  ['an unknown setting of an extension', { settings: { extensions: { skill_registry: { nope: 1 } } } }, 'nope'],
  ['settings of an unknown provider', { settings: { providers: { opnai: { base_url: 'http://x' } } } }, 'providers.opnai'],
  ['a default agent that is not there', { settings: { default_agent: 'nobody' } }, "settings: default_agent: there is no agent 'nobody'"],
  ['a map of options', new Map([['model', 'a/b']]), 'createPith: it must be a plain object'],
  ['a Map of limits', { limits: new Map([['steps', 1]]) }, "createPith: 'limits' must be a plain object"],
  ['inherited limits', { limits: Object.create({ steps: 1 }) }, "createPith: 'limits' must be a plain object"],
  ['a Map of variables', { env: new Map([['OPENAI_API_KEY', 'k']]) }, "createPith: 'env' must be"],
  ['a Map in the settings', { settings: { prices: new Map() } }, "createPith: 'settings.prices' must be a plain object"],
  ['a Date', new Date(0), 'createPith: it must be a plain object'],
  [
    'a value that throws',
    {
      get skills() {
        throw new Error('not yet');
      },
    },
    'createPith: it cannot be read: not yet',
  ],
  ['null', { sandbox: null }, "createPith: 'sandbox' must be a string, not null"],
  ['instructions that nobody gets', { agents: [{ id: 'a' }], instructions: 'Hi.' }, "instructions: the agent 'a' is used"],
  ['a default agent beside agents', { agents: [{ id: 'a' }, { id: 'b' }], settings: { default_agent: 'b' } }, 'settings.default_agent'],
  ['a skill that is too large', { skills: [{ id: 'a', description: 'd', body: 'b'.repeat(2_000_000) }] }, "skills: 'a' cannot be used"],
  ['a project that nothing works in', { project: '.' }, "project: 'project_tools' is not among `extensions`"],
  ['tools for a project without one', { extensions: ['project_tools'] }, "extensions: 'project_tools' has no folder to work in"],
  ['the id of an extension that ships', { extensions: [{ id: 'skill_registry', extension: Map }] }, 'comes with Pith'],
  ['tools of what is not given', { agents: [{ id: 'a', usesTools: ['web'] }] }, "agents.a.usesTools: 'web' is not among `extensions`"],
  ['settings of what is not given', { settings: { extensions: { web: {} } } }, "settings.extensions.web: 'web' is not among `extensions`"],
  [
    'a key of an extension',
    { settings: { extensions: { skill_registry: { nope: 1 } } } },
    "unknown key 'nope' in 'settings.extensions.skill_registry'",
  ],
  ['a schema of a text', { tools: { one: { inputSchema: z.string(), execute: String } } }, 'tools.one: its arguments are of type string'],
  ['a schema that is a circle', { tools: { one: { inputSchema: circle(), execute: String } } }, 'tools.one: its schema cannot be used'],
  ['an older form', { tools: { one: { parameters: {}, execute: String } } }, 'tools.one: it has parameters, of an older form'],
] as const)('U40 refuses %s that cannot be used, with the cure', async (_, options, message) => {
  await expect(createPith(options as PithOptions)).rejects.toMatchObject({
    code: 'settings_invalid',
    message: expect.stringContaining(message),
    cure: expect.any(String),
  });
});

it('U40 refuses a skill as an object whose id a skill of a folder has', async () => {
  const skills = [folderWith(LETTERS), { id: 'letters', description: 'Writes letters.', body: 'Say ahoy.' }];
  await expect(createPith({ skills })).rejects.toMatchObject({
    code: 'settings_invalid',
    message: expect.stringContaining("skills: 'letters'"),
  });
});

it('U40 takes the variables of the process as they are', async () => {
  vi.stubEnv('PITH_MODEL', 'offline/librarian');
  onTestFinished(() => void vi.unstubAllEnvs());
  const pith = await createPith({ env: process.env });
  onTestFinished(() => pith.close());
  expect((await pith.run('letters').result).status).toBe('done');
});

it('U40 in a sandbox without agents there is one that has its skills; one that its settings name must be there', async () => {
  const skill = { 'skills/letters/SKILL.md': LETTERS['letters/SKILL.md'] };
  const { pith, model } = await pithWith([{ text: 'Ahoy!' }], { sandbox: folderWith(skill) });
  await pith.run('hi').result;
  expect(JSON.stringify(model.requests[0])).toContain('`letters`');
  const wrong = { sandbox: folderWith({ ...skill, 'pith.yaml': 'default_agent: writer\n' }) };
  await expect(createPith(wrong)).rejects.toMatchObject({
    code: 'settings_invalid',
    message: expect.stringContaining("no agent 'writer'"),
  });
});

it('U40 refuses a sandbox whose settings cannot be read, since nobody would see what is left out', async () => {
  const sandbox = folderWith({ 'pith.yaml': 'models: { default: [ }\n' });
  await expect(createPith({ sandbox })).rejects.toMatchObject({ code: 'settings_invalid', where: expect.stringContaining('pith.yaml:1') });
});

it('U40 refuses options of a run that it does not know, and everything after close', async () => {
  const { pith } = await pithWith([]);
  expect(() => pith.run('hi', { threadd: 'a' } as never)).toThrow("run: unknown key 'threadd' (did you mean 'thread'?)");
  expect(() => pith.run('hi', { limits: { tokens: NaN } })).toThrow('limits.tokens');
  expect(() => pith.resume('a', null as never)).toThrow(expect.objectContaining({ code: 'settings_invalid' }));
  expect(() => pith.resume('a', {}, { agent: 'b' } as never)).toThrow("resume: unknown key 'agent'");
  await pith.close();
  for (const use of [() => pith.skills(), () => pith.threads.list(), () => pith.threads.messages('a'), () => pith.threads.remove('a')])
    await expect(use()).rejects.toMatchObject({ code: 'usage', message: 'this Pith is closed' });
});

describe('U40 the model', () => {
  const modelOf = async (options: PithOptions) => {
    const pith = await createPith(options);
    onTestFinished(() => pith.close());
    for await (const event of pith.run('letters')) if (event.type === 'turn-start') return event.model;
    return null;
  };

  it('that nobody named and for which there is no key is an error, never the one without a model', async () => {
    await expect(modelOf({})).rejects.toMatchObject({
      code: 'model_unknown',
      message: 'no model is set up',
      cure: expect.stringContaining("`model: 'offline/librarian'`"),
    });
  });

  it.each([
    [
      'its function throws',
      () => {
        throw new Error('no rates');
      },
      "model: the function failed for 'default': no rates",
    ],
    [
      'it gives nothing',
      { specificationVersion: 'v3', provider: 'mine', modelId: 'one', doStream: async () => undefined },
      'gave no stream',
    ],
    [
      'it gives no stream',
      { specificationVersion: 'v3', provider: 'mine', modelId: 'one', doStream: async () => ({ stream: 5 }) },
      'gave no stream',
    ],
  ])('fails by its name where %s', async (_, model, message) => {
    const pith = await createPith({ model } as PithOptions);
    onTestFinished(() => pith.close());
    await expect(pith.run('hi').result).rejects.toMatchObject({
      code: 'model_failed',
      message: expect.stringContaining(message),
      cure: expect.any(String),
    });
  });

  it.each([
    ['its name', () => ({ model: 'offline/librarian' }), 'offline/librarian'],
    ['settings', () => ({ settings: { models: { default: 'offline/librarian' } } }), 'offline/librarian'],
    ['a sandbox', () => ({ sandbox: folderWith({ 'pith.yaml': 'models: { default: offline/librarian }\n' }) }), 'offline/librarian'],
    ['a variable', () => ({ env: { PITH_MODEL: 'offline/librarian' } }), 'offline/librarian'],
    ['a key', () => ({ env: { ANTHROPIC_API_KEY: 'a-key' } }), expect.stringMatching(/^anthropic\//u)],
  ])('is chosen by %s', async (_, options, wanted) => expect(await modelOf(options())).toEqual(wanted));
});

it('U47 the offline librarian tells a program, not a person at a command line, what to do', async () => {
  const pith = await createPith({ model: 'offline/librarian' });
  onTestFinished(() => pith.close());
  const { text } = await pith.run('Hello').result;
  expect(text).toMatch(/give `skills` to createPith[^]*give `model` to createPith/u);
  expect(text).not.toMatch(/pith setup|sandbox\/skills/u);
});

describe('U48 structured output', () => {
  const schema = z.object({ city: z.string(), people: z.number() });

  it('is checked and typed, also from a fence', async () => {
    const { pith, model } = await pithWith([{ text: 'Here:\n```json\n{"city":"Oslo","people":700000}\n```' }]);
    const result = await pith.run('a city', { output: schema }).result;
    expect(result.status === 'done' && result.output.city).toBe('Oslo'); // only where it is done is it typed as there
    expect(JSON.stringify(model.requests[0])).toContain('matches this JSON Schema');
  });

  it('is asked for again: the third answer is used', async () => {
    const { pith, model } = await pithWith([
      { text: 'Oslo' },
      { text: '{"city":"Oslo","people":"many"}' },
      { text: '{"city":"Oslo","people":7}' },
    ]);
    expect((await pith.run('a city', { output: schema }).result).output).toEqual({ city: 'Oslo', people: 7 });
    expect(JSON.stringify(model.requests[2])).toContain('people: ');
  });

  it('fails with the answers where none is right', async () => {
    const { pith } = await pithWith([{ text: 'Oslo' }, { text: 'Oslo!' }, { text: '{}' }]);
    await expect(pith.run('a city', { output: schema }).result).rejects.toMatchObject({
      code: 'output_invalid',
      answers: ['Oslo', 'Oslo!', '{}'],
      thread: expect.any(String),
      usage: { inputTokens: 30, outputTokens: 15 },
      cost: null,
    });
  });

  it('takes a JSON Schema too', async () => {
    const { pith } = await pithWith([{ text: '[1,2]' }]);
    expect((await pith.run('numbers', { output: { type: 'array', items: { type: 'number' } } }).result).output).toEqual([1, 2]);
  });
});

describe('U44 approvals', () => {
  const ASKING = {
    write: { description: 'Writes.', inputSchema: z.object({ text: z.string() }), needsApproval: true, execute: () => 'written' },
  };
  const SCRIPT = [{ calls: [{ name: 'write', input: { text: 'hi' } }] }, { text: 'done' }];
  const results = (messages: unknown) => JSON.stringify(messages);

  it('asks the callback: yes runs the tool, no refuses with the reason, none means no', async () => {
    const asked: Question[] = [];
    const yes = await pithWith(SCRIPT, { tools: ASKING, approve: (question) => (asked.push(question), 'yes') });
    expect(await yes.pith.run('write').result).toMatchObject({ status: 'done', text: 'done' });
    expect(asked).toMatchObject([{ tool: 'write', input: { text: 'hi' } }]);
    expect(results(yes.model.requests[1])).toContain('written');

    const no = await pithWith(SCRIPT, { tools: ASKING, approve: () => ({ no: 'not today' }) });
    await no.pith.run('write').result;
    expect(results(no.model.requests[1])).toContain('not today');

    const nobody = await pithWith(SCRIPT, { tools: ASKING });
    await nobody.pith.run('write').result;
    expect(results(nobody.model.requests[1])).toContain('nobody can be asked here');
  });

  it.each([null, undefined, 'approve', 1, {}, { no: 1 }])('refuses %j as an answer: the question stays open', async (answer) => {
    const { pith } = await pithWith(SCRIPT, { tools: ASKING, approve: () => answer as never });
    const run = pith.run('write');
    await expect(run.result).rejects.toMatchObject({
      code: 'approve_failed',
      message: expect.stringContaining("must be 'yes', 'no', 'later', true, false or { no: reason }"),
    });
    expect(() => pith.resume(run.thread, { a: answer } as never)).toThrow("resume: 'a'");
  });

  it('waits with later, and goes on in another Pith over the same store', async () => {
    const store = folderWith();
    const first = await pithWith(SCRIPT.slice(0, 1), { tools: ASKING, store, approve: () => 'later' });
    const waiting = await first.pith.run('write').result;
    expect(waiting).toMatchObject({ status: 'waiting', questions: [{ tool: 'write', thread: waiting.thread }] });
    await first.pith.close();
    const second = await pithWith(SCRIPT.slice(1), { tools: ASKING, store });
    const ended = await second.pith.resume(waiting.thread, { [waiting.questions[0]!.id]: 'yes' }).result;
    expect(ended).toMatchObject({ status: 'done', text: 'done' });
    expect(results(second.model.requests[0])).toContain('written');
  });

  it('lists what waits in a thread; resume without answers and without `approve` leaves it open', async () => {
    const store = folderWith();
    const first = await pithWith(SCRIPT.slice(0, 1), { tools: ASKING, store, approve: () => 'later' });
    const run = first.pith.run('write');
    const asked: string[] = [];
    for await (const event of run) if (event.type === 'approval-request') asked.push(event.tool);
    const { thread, questions } = await run.result;
    expect(asked).toEqual(['write']); // as in `questions`
    await first.pith.close();
    const { pith } = await pithWith(SCRIPT.slice(1), { tools: ASKING, store });
    expect(await pith.questions(thread)).toEqual(questions);
    expect(await pith.resume(thread).result).toMatchObject({ status: 'waiting', questions });
    expect(await pith.resume(thread, { [questions[0]!.id]: 'yes' }).result).toMatchObject({ status: 'done', text: 'done' });
    expect(await pith.questions(thread)).toEqual([]);
  });
});

describe('U47 a run', () => {
  it('ends when the loop over it is left', async () => {
    const { pith } = await pithWith([{ text: 'a long answer' }]);
    const run = pith.run('hi');
    for await (const event of run) if (event.type === 'turn-start') break;
    expect((await run.result).status).toBe('aborted');
  });

  it('ends by a signal, by limits, and by close', async () => {
    const { pith } = await pithWith([READ, { text: 'never' }], { skills: [folderWith(LETTERS)] });
    expect((await pith.run('hi', { limits: { steps: 1 } }).result).status).toBe('limit');
    expect((await pith.run('hi', { signal: AbortSignal.abort() }).result).status).toBe('aborted');
    const run = pith.run('hi');
    await pith.close();
    expect((await run.result).status).toBe('aborted');
    expect(() => pith.run('hi')).toThrow('this Pith is closed');
  });

  it('is read by several at once, each with all of it; whoever leaves ends it for the others', async () => {
    const { pith } = await pithWith([{ text: 'a long answer' }, { text: 'another answer' }]);
    const run = pith.run('hi');
    const textOf = async () => {
      const parts: string[] = [];
      for await (const part of run.text) parts.push(part);
      return parts.join('');
    };
    const typesOf = async (of: AsyncIterable<{ readonly type: string }>) => {
      const types: string[] = [];
      for await (const { type } of of) types.push(type);
      return types;
    };
    const [one, two, types] = await Promise.all([textOf(), textOf(), typesOf(run)]);
    expect([one, two, types.at(-1)]).toEqual(['a long answer', 'a long answer', 'turn-end']);
    expect(await typesOf(run)).toEqual(types); // also later

    const left = pith.run('hi');
    const other = typesOf(left);
    for await (const _ of left) break;
    expect([(await left.result).status, (await other).at(-1)]).toEqual(['aborted', 'turn-end']);
  });

  it('ends in the middle of a tool, which is told by its signal, also one that does not listen', async () => {
    for (const listens of [true, false]) {
      const stop = new AbortController();
      let told: boolean | undefined;
      const wait = ({ signal }: { readonly signal: AbortSignal }) => {
        stop.abort();
        return new Promise((resolve) => {
          told = signal.aborted;
          if (listens) resolve('stopped');
        });
      };
      const { pith } = await pithWith([{ calls: [{ name: 'wait', input: {} }] }, { text: 'never' }], { tools: { wait } });
      expect((await pith.run('hi', { signal: stop.signal }).result).status).toBe('aborted');
      expect(told).toBe(true);
    }
  });

  it('fails with a code, and nothing is unhandled where nobody asks for the result', async () => {
    const unhandled: unknown[] = [];
    const heard = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', heard);
    onTestFinished(() => void process.off('unhandledRejection', heard));
    const { pith } = await pithWith([{ error: new Error('broken') } as never]);
    const run = pith.run('hi');
    const read = async (loop: AsyncIterable<unknown>) => {
      for await (const _ of loop);
    };
    // Whoever reads the text alone must not take half of an answer for the whole.
    await expect(read(run)).rejects.toMatchObject({ code: 'model_failed' });
    await expect(read(run.text)).rejects.toMatchObject({ code: 'model_failed' });
    pith.run('hi', { agent: 'nobody' });
    await expect(run.result).rejects.toMatchObject({ code: 'model_failed' });
    await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  });
});

describe('U48 models', () => {
  const stream = (parts: readonly unknown[]) => ({
    stream: (async function* () {
      yield* parts;
    })(),
  });
  const modelOf = (specificationVersion: string, finish: object): EmbeddedModel => ({
    specificationVersion,
    provider: 'own',
    modelId: 'm',
    doStream: async () =>
      stream([
        { type: 'stream-start', warnings: [] },
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'hello' },
        { type: 'text-end', id: '1' },
        { type: 'finish', ...finish },
      ]),
  });
  const third = { finishReason: { unified: 'stop', raw: 'stop' }, usage: { inputTokens: { total: 5 }, outputTokens: { total: 1 } } };

  it.each([
    ['v2', { finishReason: 'stop', usage: { inputTokens: 5, outputTokens: 1, totalTokens: 6 } }],
    ['v3', third],
    ['v4', third],
  ])('of specification %s are taken by shape', async (version, finish) => {
    const pith = await createPith({ model: modelOf(version, finish) });
    onTestFinished(() => pith.close());
    expect(await pith.run('hi').result).toMatchObject({ status: 'done', text: 'hello', usage: { inputTokens: 5, outputTokens: 1 } });
  });

  it('that `scriptedModel` makes are taken as they are, also from a function', async () => {
    const model = scriptedModel([{ text: 'one' }, { text: 'two' }]);
    for (const given of [model, () => model]) {
      const pith = await createPith({ model: given });
      onTestFinished(() => pith.close());
      expect((await pith.run('hi').result).status).toBe('done');
    }
    model.expectFinished();
  });

  it('whose answer is cut say so in the result: by the output limit, and by the filter', async () => {
    const script: ScriptedStep[] = [{ text: 'half', finish: 'length' }, { text: '', finish: 'content-filter' }, { text: 'whole' }];
    const pith = await createPith({ model: scriptedModel(script).model });
    onTestFinished(() => pith.close());
    const ended = [];
    for (const text of ['1', '2', '3']) ended.push(await pith.run(text, { thread: 't' }).result);
    expect(ended.map(({ status, text, cut }) => [status, text, cut])).toEqual([
      ['done', 'half', 'length'],
      ['done', '', 'filter'],
      ['done', 'whole', null],
    ]);
  });

  it('whose stream ends without its last part fail the run: half an answer is never taken for the whole', async () => {
    const half = { ...modelOf('v3', third), doStream: async () => stream([{ type: 'text-delta', id: '1', delta: 'half' }]) };
    const pith = await createPith({ model: half });
    onTestFinished(() => pith.close());
    await expect(pith.run('hi').result).rejects.toMatchObject({
      code: 'model_failed',
      message: 'model own/m: the answer ended in the middle',
      retryable: true,
      cure: 'send the message again',
    });
  });

  it('keep the prompt that they were sent', async () => {
    const model = scriptedModel([{ calls: [{ name: 'look', input: {} }] }, { text: 'seen' }]);
    const { pith } = await pithWith([], { model, tools: { look: () => 'a ship' } });
    await pith.run('hi').result;
    const [first, second] = model.requests.map(({ options }) => options.prompt.length);
    expect(second).toBe(first! + 2); // nothing was added later to the first
  });

  it('of another specification are refused by name', async () => {
    await expect(createPith({ model: modelOf('v9', third) })).rejects.toMatchObject({
      code: 'model_unknown',
      message: expect.stringContaining('v9'),
    });
    await expect(createPith({ model: {} as never })).rejects.toMatchObject({ code: 'model_unknown' });
    const pith = await createPith({ model: (async () => null) as never });
    onTestFinished(() => pith.close());
    await expect(pith.run('hi').result).rejects.toMatchObject({
      code: 'model_unknown',
      message: expect.stringContaining('not a language model'),
    });
  });
});

it('U43 two of them never see each other’s skills, threads and settings', async () => {
  const one = await pithWith([{ text: 'one' }], { skills: [folderWith(LETTERS)] });
  const two = await pithWith([{ text: 'two' }]);
  const { thread } = await one.pith.run('hi', { thread: 'same' }).result;
  await two.pith.run('hi', { thread: 'other' }).result;
  expect([await two.pith.skills(), await two.pith.threads.messages(thread)]).toEqual([[], null]);
  expect(JSON.stringify(two.model.requests)).not.toContain('letters');
});

it('U45 keeps threads in a folder', async () => {
  const store = folderWith();
  const { pith } = await pithWith([{ text: 'Hello.' }], { store });
  const { thread } = await pith.run('hi').result;
  await pith.close();
  expect(readdirSync(store)).toContain('pith.db');
  const again = await pithWith([], { store });
  expect(await again.pith.threads.messages(thread)).toHaveLength(2);
  expect(readFileSync(path.join(store, 'pith.db')).length).toBeGreaterThan(0);
});
