import { expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { fakeClock } from 'pith/testing';
import { kernelOf, serverOf } from '../../places.ts';
import { extensionFiles, toolExtension } from '../../journeys/sandbox-files.ts';

const AGENT = (id: string, model: string) => `id: ${id}\nname: A\nversion: 1.0.0\nagent:\n  description: Answers.\n  model: ${model}\n`;

/** A note that says this. */
const noted = (said: RegExp, more: object = {}) => expect.objectContaining({ message: expect.stringMatching(said), ...more });

it('doctor finds a default agent that is not there, with the nearest name and the line', async () => {
  const pith = await kernelOf({ files: { 'pith.yaml': '# mine\ndefault_agent: orchestratr\n' } });
  expect(pith.kernel.settings.default_agent).toBe('orchestrator'); // it answers instead
  const report = await pith.kernel.doctor();
  expect(report.ok).toBe(false);
  const said = /^sandbox\/pith\.yaml:2 default_agent: .*did you mean 'orchestrator'/u;
  expect(report.notes).toContainEqual(noted(said, { severity: 'error', code: 'agent_unknown' }));
});

it('doctor finds misspelt models: the chosen one, aliases and those of agents', async () => {
  const pith = await kernelOf({
    files: {
      'pith.yaml': 'models:\n  fast: opnai/test\n',
      'agents/hasty/manifest.yaml': AGENT('hasty', 'fastt'),
      'agents/sound/manifest.yaml': AGENT('sound', 'openai/whatever'),
    },
    env: { PITH_MODEL: 'opnai/test' },
  });
  const report = await pith.kernel.doctor();
  expect(report).toMatchObject({ ok: false, model: { ref: 'none', why: expect.stringContaining("did you mean 'openai/test'") } });
  const said = /^sandbox\/pith\.yaml:2 models\.fast: .*did you mean 'openai\/test'/u;
  expect(report.notes).toContainEqual(noted(said, { severity: 'error' }));
  const hasty = { state: 'degraded', code: 'model_unknown', line: 6, message: expect.stringContaining("did you mean 'fast'") };
  expect(report.agents.find(({ id }) => id === 'hasty')).toMatchObject(hasty);
  expect(report.agents.find(({ id }) => id === 'sound')).toMatchObject({
    state: 'active',
    code: 'model_auth',
    cure: expect.stringContaining('OPENAI_API_KEY'),
  });
});

it('doctor finds a misspelt provider, with the nearest one and the line', async () => {
  const pith = await kernelOf({
    files: { 'pith.yaml': 'providers:\n  opnai:\n    base_url: http://127.0.0.1:1/v1\n  ollama: {}\n' },
  });
  const { notes } = await pith.kernel.doctor();
  const said = /^sandbox\/pith\.yaml:2 providers\.opnai: .*did you mean 'openai'\?\)$/u;
  const found = (notes ?? []).filter(({ message }) => message.includes('providers.'));
  expect(found).toEqual([noted(said, { severity: 'warning', code: 'unknown_key' })]);
});

it('U-4 doctor says that no message can be sent where the server lists no such model, or does not answer', async () => {
  const url = await serverOf((_, response) => response.end('{"data":[{"id":"small"}]}'));
  const report = async (address: string, name: string) => {
    const text = `models: { default: openai/${name} }\nproviders: { openai: { base_url: "${address}/v1" } }\n`;
    return (await kernelOf({ files: { 'pith.yaml': text } })).kernel.doctor();
  };
  expect((await report(url, 'small')).notes.filter(({ severity }) => severity === 'error')).toEqual([]);
  const [wrong, dead] = [await report(url, 'smal'), await report('http://127.0.0.1:9', 'small')];
  expect([wrong.ok, dead.ok]).toEqual([false, false]);
  expect(wrong.notes[0]).toMatchObject(
    noted(/^no message can be sent to openai\/smal: .*did you mean 'small'/u, { code: 'model_unknown' }),
  );
  expect(dead.notes[0]).toMatchObject({
    code: 'model_unreachable',
    message: expect.stringContaining('127.0.0.1:9'),
    cure: expect.any(String),
  });
});

it('U-4 doctor names each agent whose own model no server has, also by an alias, and asks the server of others than the default one', async () => {
  const url = await serverOf((_, response) => response.end('{"data":[{"id":"small"}]}'));
  const { kernel } = await kernelOf({
    files: {
      'pith.yaml': `models: { default: openai/small, fast: near/smal }\nproviders: { openai: { base_url: "${url}/v1" }, near: { base_url: "${url}/v1" } }\n`,
      ...Object.fromEntries(
        ['default', 'near/small', 'near/big', 'fast'].map((model, at) => [`agents/agent_${at}/manifest.yaml`, AGENT(`agent_${at}`, model)]),
      ),
    },
  });
  const { ok, agents, notes } = await kernel.doctor();
  expect([ok, notes.filter(({ severity }) => severity === 'error')]).toEqual([false, []]);
  expect(agents.flatMap(({ id, code, message }) => (code === undefined ? [] : [[id, message]]))).toEqual([
    ['agent_2', "'near' has no model 'big'"],
    ['agent_3', "'near' has no model 'smal' (did you mean 'small'?)"],
  ]);
});

it.each([
  ['nothing answers', {}, 'http://127.0.0.1:9', 'check the address, and that the server runs'],
  ['it wants a key', {}, null, 'set OPENAI_API_KEY'],
  ['it refuses the key', { OPENAI_API_KEY: 'k' }, null, 'set a valid key in OPENAI_API_KEY'],
  ['the name is wrong', { PITH_MODEL: 'opnai/x' }, 'http://127.0.0.1:9', expect.stringContaining('provider/model')],
])('U-4 doctor says why there is no model, and what to do: %s', async (_what, more, address, cure) => {
  const url = address ?? (await serverOf((_, response) => response.writeHead(401).end()));
  const { kernel } = await kernelOf({ env: { OPENAI_BASE_URL: `${url}/v1`, PITH_MODEL: '', ...more } });
  const { ok, model, notes } = await kernel.doctor();
  expect([ok, model.ref]).toEqual([false, 'none']);
  expect(notes.filter(({ message }) => message.includes(model.why))).toMatchObject([{ severity: 'error', cure }]);
});

it('U-10 doctor notes an address that is set and not asked', async () => {
  const env = { PITH_MODEL: 'offline/librarian', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' };
  const { ok, notes } = await (await kernelOf({ env })).kernel.doctor();
  expect([ok, notes]).toEqual([true, [noted(/^OPENAI_BASE_URL is set but not used/u, { severity: 'info' })]]);
});

it('doctor is content with names that are right', async () => {
  const pith = await kernelOf({
    files: { 'pith.yaml': 'default_agent: orchestrator\nmodels:\n  fast: openai/x\n  thinking: fast\n' },
  });
  expect(await pith.kernel.doctor()).toMatchObject({ ok: true });
});

it('a command of an extension that the kernel has as well is noted, with the one that runs', async () => {
  const main = "export default class { getCommands() { return [{ path: 'doctor', description: 'x', run: () => 0 }]; } }\n";
  const manifest = { commands: [{ path: 'doctor', description: 'x' }] };
  const files = extensionFiles('kv', { provides: ['command'], manifest, main }); // what replaces a shipped one keeps its names
  const { kernel } = await kernelOf({ files, commands: kernelCommands });
  const said = /'doctor' is declared by 'pith itself' and 'kv'; only that of 'pith itself' runs/u;
  expect((await kernel.doctor()).notes).toContainEqual(noted(said, { code: 'name_clash' }));
});

it('doctor notes tools and commands that share a name, and is well with them', async () => {
  const main = "export default class { getCommands() { return [{ path: 'greet', description: 'x', run: () => 0 }]; } }\n";
  const commands = [{ path: 'greet', description: 'x' }];
  const pith = await kernelOf({
    files: {
      ...toolExtension('one', 'greet_person', "'a'"),
      ...toolExtension('two', 'greet_person', "'b'"),
      ...toolExtension('three', 'wave', "'c'"),
      ...extensionFiles('first', { provides: ['command'], manifest: { commands }, main }),
      ...extensionFiles('second', { provides: ['command'], manifest: { commands }, main }),
    },
  });
  const report = await pith.kernel.doctor();
  expect(report.ok).toBe(true);
  expect(report.notes.filter(({ code }) => code === 'name_clash')).toEqual([
    noted(/'greet_person' is offered by 'one' and 'two'/u, { severity: 'info' }),
    noted(/'greet' of 'first' is reached as 'pith first:greet'/u),
    noted(/'greet' of 'second' is reached as 'pith second:greet'/u),
  ]);
});

it.each([
  [
    'a misspelt setting of a provider',
    { 'pith.yaml': 'providers:\n  openai:\n    base_ur: http://127.0.0.1:1/v1\n' },
    /^sandbox\/pith\.yaml:3: .*'base_url'/u,
  ],
  [
    'an optional dependency that nothing declares, near one that is there',
    extensionFiles('mine', {
      provides: ['tool'],
      manifest: { optional_depends_on: ['kvv'] },
      main: 'export default class { getTools() { return []; } }\n',
    }),
    /^optional_depends_on 'kvv'.*did you mean 'kv'/u,
  ],
  [
    'an extension whose start fails',
    extensionFiles('mine', {
      provides: ['service'],
      main: "export default class { start() { throw new Error('no start'); } async runBackground() {} }\n",
    }),
    /^the extension 'mine' .*no start/u,
  ],
])('problems have %s, once', async (_what, files, message) => {
  const pith = await kernelOf({ files });
  await pith.kernel.start();
  const found = await pith.kernel.problems();
  expect(found.map((each) => each.message)).toEqual([expect.stringMatching(message)]);
});

it('problems have every error of an agent', async () => {
  const manifest = 'id: me\nagent:\n  uses_tools: kv\n  limits: { max_turns: 0 }\n';
  const pith = await kernelOf({ files: { 'agents/me/manifest.yaml': manifest } });
  expect(await pith.kernel.problems()).toMatchObject([
    { message: expect.stringMatching(/^the agent 'me' cannot run: 'agent\.uses_tools' must be a list/u), line: 3 },
    { message: expect.stringMatching(/^the agent 'me' cannot run: 'agent\.limits\.max_turns'/u), line: 4 },
  ]);
});

it('problems do not name an extension that runs, although its service threw once', async () => {
  const main = "export default class { async runBackground() { throw new Error('boom'); } }\n";
  const pith = await kernelOf({ files: extensionFiles('mine', { provides: ['service'], main }) });
  await pith.kernel.start();
  await expect.poll(() => pith.kernel.host.extensions.show('mine')).toMatchObject({ state: 'active', phase: 'background' });
  expect(await pith.kernel.problems()).toEqual([]);
});

it.each(['in_process', 'process'] as const)(
  'S6 an extension says what is wrong in its own matters, and fails alone: %s',
  async (isolation) => {
    const finder = (id: string, body: string) =>
      extensionFiles(id, {
        provides: ['service'],
        main: `export default class { async runBackground() {} findings(signal) { ${body} } }\n`,
      });
    const place = "file: '/own.txt', line: 3, cure: 'mend it'";
    const pith = await kernelOf({
      isolation,
      files: {
        ...finder(
          'told',
          `return [{ severity: 'warning', code: 'own', message: 'own ' + signal.aborted, ${place} }, { severity: 'info', code: 'own', message: 'by the way' }];`,
        ),
        ...finder('thrower', "throw new Error('own trouble');"),
        ...finder('babbler', "return [{ message: 'own' }];"),
      },
    });
    await pith.kernel.start();
    const own = {
      babbler: { severity: 'error', code: 'provider_failed', message: expect.stringMatching(/'babbler' cannot say .*no list of/u) },
      thrower: { severity: 'error', code: 'provider_failed', message: "the extension 'thrower' cannot say what it finds: own trouble" },
      told: { severity: 'warning', code: 'own', message: 'own false', file: '/own.txt', line: 3, cure: 'mend it' },
    };
    const byMessage = <T extends { readonly message: string }>(found: readonly T[]) =>
      [...found].sort((a, b) => (a.message < b.message ? -1 : 1));
    expect(byMessage(await pith.kernel.problems())).toMatchObject([own.told, own.babbler, own.thrower]);
    const { ok, notes } = await pith.kernel.doctor();
    expect(ok).toBe(false);
    for (const each of [...Object.values(own), { severity: 'info', code: 'own', message: 'by the way' }])
      expect(notes).toContainEqual(expect.objectContaining(each));
  },
);

it.each(['in_process', 'process'] as const)('S6 names the cure of what stops it, not its source: %s', async (isolation) => {
  const main = (thrown: string) =>
    `import { PithError } from 'pith';\nexport default class { async runBackground() {} findings() { throw ${thrown}; } }\n`;
  const files = {
    ...extensionFiles('full', { provides: ['service'], main: main("Object.assign(new Error('no'), { code: 'ENOSPC' })") }),
    ...extensionFiles('kept', {
      provides: ['service'],
      main: main("new PithError('database_failed', 'full', { cure: 'free some space' })"),
    }),
    ...extensionFiles('other', { provides: ['service'], main: main("new Error('no')") }),
  };
  const pith = await kernelOf({ isolation, files });
  await pith.kernel.start();
  const found = await pith.kernel.problems();
  const cureOf = (id: string) => found.find(({ message }) => message.includes(`'${id}' cannot say`))?.cure;
  expect([cureOf('full'), cureOf('kept'), cureOf('other')]).toEqual([
    expect.stringMatching(/^the disk is full: free space/u),
    'free some space',
    'correct the source of other',
  ]);
});

it.each([
  ['skills:\n  max_skills: many\n', 'skill_triggers', /^sandbox\/pith\.yaml:2: 'skills\.max_skills' must be a number/u],
  [
    'extensions:\n  core_tools:\n    new_skils: auto\n',
    'core_tools',
    /^sandbox\/pith\.yaml:3: unknown key 'new_skils'.*did you mean 'new_skills'/u,
  ],
  ['extensions:\n  task_engine:\n    max_open: 0\n', 'task_engine', /^sandbox\/pith\.yaml:3: 'extensions\.task_engine\.max_open'/u],
])(
  'U32 a wrong setting of an extension that nothing needs is said at the start, with its line, and degrades it: %j',
  async (text, id, message) => {
    const first = await kernelOf({ files: { 'pith.yaml': text } });
    await first.kernel.problems();
    await first.restart(); // what the index knows by now needs no code
    expect(await first.kernel.problems()).toContainEqual(expect.objectContaining({ message: expect.stringMatching(message) }));
    const { ok, extensions } = await first.kernel.doctor();
    expect(ok).toBe(false);
    expect(extensions.filter(({ degraded }) => degraded === true)).toMatchObject([{ id, state: 'active' }]);
  },
);

it.each([
  ['approvals:\n  tool: [kv]\n', 'every tool asks'],
  ['aprovals:\n  tools: [kv]\n', 'every tool asks'],
])('U32 T4 a misspelt approval fails closed: %j', async (text, said) => {
  const pith = await kernelOf({ files: { 'pith.yaml': text } });
  expect(await pith.kernel.problems()).toContainEqual(expect.objectContaining({ cure: expect.stringContaining(said) }));
  expect(pith.kernel.settings.approvals.tools).toEqual(['*']);
});

const LOUD = (events: object) =>
  extensionFiles('loud', {
    provides: ['service'],
    manifest: { events },
    main: `export default class {
      constructor(context) { this.context = context; }
      async runBackground(signal) {
        await this.context.events.publish('notify', { v: 1, text: 'x', kind: 'x', target: null, threadId: null, userId: null });
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      }
    }`,
  });

it('A4: doctor says what a kernel that runs has stopped, with the cure of what failed last, until it is mended', async () => {
  const clock = fakeClock();
  const serving = await kernelOf({ clock, files: LOUD({}) });
  const doctor = await kernelOf({ clock, sandbox: serving.sandbox });
  const reported = async () => {
    const { ok, extensions } = await doctor.kernel.doctor();
    return { ok, ...extensions.find(({ id }) => id === 'loud') };
  };
  await serving.kernel.start();
  for (let round = 0; round < 6 && serving.kernel.host.extensions.state('loud') !== 'failed'; round++) await clock.advance(5000);
  const failed = {
    state: 'failed',
    code: 'breaker_open',
    message: expect.stringMatching(
      /stopped after 3 crashes in five minutes, the last: 'loud' publishes 'notify', which its manifest does not declare/u,
    ),
    cure: "add notify to 'events.publishes', or run: pith extensions reload loud",
  };
  expect(serving.kernel.host.extensions.show('loud')).toMatchObject(failed);
  await expect.poll(reported).toMatchObject({ ok: false, ...failed, message: expect.stringMatching(/^in the Pith that runs: stopped/u) });

  for (const [file, text] of Object.entries(LOUD({ publishes: ['notify'] }))) await serving.write(file, text);
  await Promise.all([serving.kernel.host.extensions.refresh(), doctor.kernel.host.extensions.refresh()]);
  expect(serving.kernel.host.extensions.state('loud')).toBe('active');
  await expect.poll(reported).toMatchObject({ ok: true, state: 'active', code: undefined });
});
