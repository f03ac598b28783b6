import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { folderWith } from '../../places.ts';

const ROOT = path.resolve('.');

/** Notes every place that is asked for in the file system, what is written, and the variables that are read. */
const TRACE = `const fs = require('node:fs');
const seen = new Set(), written = new Set(), variables = new Set();
const noting = (trap) => (...given) => { variables.add(typeof given[1] === 'string' ? given[1] : 'all of them'); return Reflect[trap](...given); };
process.env = new Proxy(process.env, Object.fromEntries(['get', 'has', 'getOwnPropertyDescriptor', 'ownKeys'].map((trap) => [trap, noting(trap)])));
const WRITES = /^(?:write|append|mkdir|mkdtemp|rename|rm|unlink|copy|cp|symlink|link|truncate|chmod|utimes|lutimes)/;
const watch = (module) => {
  for (const [name, real] of Object.entries(module)) {
    if (typeof real !== 'function' || !/^[a-z]/.test(name)) continue;
    module[name] = Object.assign(function (...given) {
      const place = typeof given[0] === 'string' || given[0] instanceof URL ? String(given[0]) : null;
      const isWrite = WRITES.test(name) || (/^open/.test(name) && typeof given[1] === 'string' && /[wa+]/.test(given[1])) || (/^open/.test(name) && typeof given[1] === 'number' && (given[1] & 3) !== 0);
      if (place !== null) (isWrite ? written : seen).add(require('node:path').resolve(place.replace(/^file:\\/\\//, '')));
      return real.apply(this, given);
    }, real);
  }
};
watch(fs); watch(fs.promises);
require('node:module').syncBuiltinESMExports();
globalThis.traced = { seen, written, variables };`;

const MODEL = `const model = { specificationVersion: 'v3', provider: 'own', modelId: 'm', doStream: async () => ({ stream: (async function* () {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'text-start', id: '1' }; yield { type: 'text-delta', id: '1', delta: 'hello' }; yield { type: 'text-end', id: '1' };
  yield { type: 'finish', finishReason: { unified: 'stop' }, usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } } };
})() }) };`;

async function program(text: string, options: { readonly cwd: string; readonly argv?: readonly string[]; readonly home?: string }) {
  const file = path.join(folderWith({ 'program.mjs': text }), 'program.mjs');
  const env = {
    PATH: process.env['PATH'],
    TMPDIR: os.tmpdir(),
    HOME: options.home ?? options.cwd,
    PITH_MODEL: 'canary/model',
    OPENAI_API_KEY: 'canary-key',
  };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...(options.argv ?? []), file], { cwd: options.cwd, env });
  return { stdout, stderr, file };
}

/** Variables of Node itself, and those by which the package of the database finds its binary. */
const NOT_OF_PITH =
  /^(?:WATCH_REPORT_DEPENDENCIES|NODE_V8_COVERAGE|PREBUILDS_ONLY|ELECTRON_RUN_AS_NODE|npm_config_(?:arch|platform)|LIBC|ARM_VERSION|@PHOTOSTRUCTURE\/SQLITE_PREBUILD)$/u;

const IMPORT = `import { createPith } from '${ROOT}/dist/embed.js';`;

it('U43 U46 without options nothing is read from home, working directory, environment or an instance before, nothing is written or printed, and the process ends', async () => {
  const cwd = folderWith({
    'AGENTS.md': 'canary instructions',
    '.env': 'PITH_MODEL=canary/model\n',
    'sandbox/pith.yaml': 'models: { default: canary/model }\n',
    'sandbox/skills/canary/SKILL.md': '---\nname: canary\ndescription: canary\n---\ncanary\n',
    '.pith/config.yaml': 'models: { default: canary/model }\n',
    '.claude/skills/canary/SKILL.md': '---\nname: canary\ndescription: canary\n---\ncanary\n',
    'trace.cjs': TRACE,
  });
  const text = `${IMPORT} ${MODEL}
    const before = [process.eventNames().length, process.cwd()];
    const sent = []; const spied = { ...model, doStream: (options) => (sent.push(JSON.stringify(options)), model.doStream(options)) };
    for (let at = 0; at < 2; at += 1) {
      const pith = await createPith({ model: spied });
      const { text } = await pith.run('hi').result;
      if (text !== 'hello') throw new Error(text);
      await pith.close();
    }
    if (JSON.stringify(before) !== JSON.stringify([process.eventNames().length, process.cwd()])) throw new Error('listeners or folder changed');
    const { seen, written, variables } = globalThis.traced;
    (await import('node:fs')).writeFileSync(process.argv[1] + '.json', JSON.stringify({ seen: [...seen], written: [...written], variables: [...variables], sent }));`;
  const { stdout, stderr, file } = await program(text, { cwd, argv: ['--require', path.join(cwd, 'trace.cjs')] });
  expect([stdout, stderr]).toEqual(['', '']);
  const { seen, written, variables, sent } = JSON.parse(readFileSync(`${file}.json`, 'utf8')) as Record<
    'seen' | 'written' | 'variables' | 'sent',
    string[]
  >;
  // Extensions get a data folder as everywhere: an empty one below the temporary folder, which `close` removes.
  const own = new RegExp(`^${os.tmpdir()}/pith-[0-9a-f-]{36}(?:/data(?:/extensions(?:/[a-z_]+)?)?)?$`, 'u');
  expect(written.filter((place) => place !== `${file}.json` && !own.test(place))).toEqual([]);
  expect(written.filter((place) => own.test(place) && existsSync(place))).toEqual([]);
  expect(seen.length).toBeGreaterThan(20);
  expect(seen.filter((place) => place.startsWith(cwd))).toEqual([]);
  expect(variables.filter((name) => !NOT_OF_PITH.test(name))).toEqual([]);
  expect(sent).toHaveLength(2);
  expect(sent.join('')).not.toContain('canary');
});

it('U43 the trace also sees relative places, and variables of the process', async () => {
  const cwd = folderWith({ 'trace.cjs': TRACE, '.env': 'canary' });
  const text = `import { readFileSync, writeFileSync } from 'node:fs'; readFileSync('.env'); writeFileSync('written', ''); process.env.HOME; ({ ...process.env });
    const { seen, written, variables } = globalThis.traced;
    console.log(JSON.stringify({ seen: [...seen], written: [...written], variables: [...variables] }));`;
  const { stdout } = await program(text, { cwd, argv: ['--require', path.join(cwd, 'trace.cjs')] });
  const { seen, written, variables } = JSON.parse(stdout) as Record<'seen' | 'written' | 'variables', string[]>;
  expect([seen, written]).toEqual([expect.arrayContaining([path.join(cwd, '.env')]), [path.join(cwd, 'written')]]);
  expect(variables).toEqual(expect.arrayContaining(['HOME', 'all of them', 'OPENAI_API_KEY']));
});

it.each([
  ['beside a named sandbox', {}],
  ['in a named project', { project: '.' }],
])('U43 instructions, variables and servers %s are not read, also for extensions that work there', async (_, options) => {
  const cwd = folderWith({
    'AGENTS.md': 'canary instructions',
    'CLAUDE.md': 'canary instructions',
    '.env': 'OPENAI_API_KEY=canary\n',
    '.mcp.json': '{"mcpServers":{"canary":{"command":"canary"}}}',
    '.claude/skills/canary/SKILL.md': '---\nname: canary\ndescription: canary\n---\ncanary\n',
    'own/agents/writer/manifest.yaml': 'id: writer\nagent: { uses_tools: ["*"], instructions: Write well. }\n',
    'own/pith.yaml': 'default_agent: writer\n',
    'trace.cjs': TRACE,
  });
  const text = `${IMPORT} ${MODEL}
    let sent = ''; const spied = { ...model, doStream: (options) => (sent += JSON.stringify(options), model.doStream(options)) };
    const { project } = ${JSON.stringify(options)};
    const extensions = ['project_instructions', 'mcp', ...(project === undefined ? [] : ['project_tools'])];
    const pith = await createPith({ model: spied, sandbox: 'own', extensions, project });
    await pith.run('hi').result;
    await pith.close();
    console.log(JSON.stringify({ sent, seen: [...globalThis.traced.seen] }));`;
  const { stdout } = await program(text, { cwd, argv: ['--require', path.join(cwd, 'trace.cjs')] });
  const { sent, seen } = JSON.parse(stdout) as { readonly sent: string; readonly seen: readonly string[] };
  expect(sent).toContain('Write well.');
  expect(sent.includes('read_file')).toBe('project' in options);
  expect(sent).not.toMatch(/canary|AGENTS\.md|CLAUDE\.md/u);
  const inFolder = seen.map((place) => path.relative(cwd, place)).filter((place) => place !== '' && !/^(?:own|\.\.)/u.test(place));
  const beside = 'project' in options ? [] : inFolder.filter((place) => place !== '.git'); // only whether a repository begins there
  expect(beside).toEqual([]);
});

it('U40 importing it loads nothing else', async () => {
  const { stdout } = await program(`${IMPORT} console.log(typeof createPith);`, { cwd: folderWith() });
  expect(stdout).toBe('function\n');
  const [, entry = ''] = /'(.*?)'/u.exec(readFileSync(path.join(ROOT, 'dist/embed.js'), 'utf8')) ?? [];
  const file = path.join(ROOT, 'dist', entry);
  const text = readFileSync(file, 'utf8');
  const chunks = [...text.matchAll(/(?:^|;)import\s*(?:[\w{},* $]+from\s*)?["'](.*?)["']/gu)].map(([, name]) => name!);
  expect(chunks.length).toBeLessThanOrEqual(1); // what each file of the build has
  expect(chunks.map((name) => readFileSync(path.resolve(path.dirname(file), name), 'utf8').length < 4000)).toEqual(chunks.map(() => true));
  expect(text.length).toBeLessThan(2000);
});

it('U48 neither the build nor an extension that ships imports `ai`', () => {
  const imported = (folder: string) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:m?js|d\.ts|ts)$/u.test(name))
      .flatMap((name) => [
        ...readFileSync(path.join(ROOT, folder, name), 'utf8').matchAll(/\b(?:from|import|require)\s*\(?\s*["']([@\w][^"'\s]*)["']/gu),
      ])
      .map(([, name]) => name);
  const names = [...imported('dist'), ...imported('sandbox/extensions')];
  expect(names).toContain('zod');
  expect(names.filter((name) => /^ai(?:\/|$)/u.test(name!))).toEqual([]);
});

it('U40 importing it opens only its own files, and leaves no timer, listener or open file', async () => {
  const cwd = folderWith({ 'trace.cjs': TRACE });
  const text = `import { readdirSync } from 'node:fs';
    const figures = () => [process.eventNames().sort(), process.getActiveResourcesInfo().sort(), readdirSync('/proc/self/fd').length];
    const settled = () => new Promise((resolve) => setTimeout(resolve, 50));
    await settled(); const before = figures(); const known = new Set(globalThis.traced.seen);
    await import('${ROOT}/dist/embed.js');
    await settled();
    const { seen, written } = globalThis.traced;
    console.log(JSON.stringify({ before, after: figures(), seen: [...seen].filter((place) => !known.has(place)), written: [...written] }));`;
  const { stdout } = await program(text, { cwd, argv: ['--require', path.join(cwd, 'trace.cjs')] });
  const { before, after, seen, written } = JSON.parse(stdout) as Record<'before' | 'after' | 'seen' | 'written', string[]>;
  expect(after).toEqual(before);
  expect(written).toEqual([]);
  expect(seen.filter((place) => !place.startsWith(`${ROOT}/`) && !ROOT.startsWith(place) && place !== '/proc/self/fd')).toEqual([]);
  expect(seen.filter((place) => /^(?:sandbox|core|data)\b/u.test(path.relative(ROOT, place)))).toEqual([]);
});

it('U40 until the first model call it takes what ships from the build, and starts no process', async () => {
  const cwd = folderWith({ 'trace.cjs': TRACE, 'skills/notes/SKILL.md': '---\nname: notes\ndescription: Take notes.\n---\nTake notes.\n' });
  const text = `${IMPORT} ${MODEL}
    let first; const spied = { ...model, doStream: (options) => {
      first ??= { sent: JSON.stringify(options.prompt), seen: [...globalThis.traced.seen], modules: process.moduleLoadList };
      return model.doStream(options);
    } };
    const pith = await createPith({ model: spied, skills: [${JSON.stringify(path.join(cwd, 'skills'))}] });
    await pith.run('hi').result; await pith.close();
    console.log(JSON.stringify(first));`;
  const { stdout } = await program(text, { cwd, argv: ['--require', path.join(cwd, 'trace.cjs')] });
  const { sent, seen, modules } = JSON.parse(stdout) as { readonly sent: string; readonly seen: string[]; readonly modules: string[] };
  expect(sent).toContain('notes');
  expect(seen.filter((place) => place.startsWith(path.join(ROOT, 'sandbox/extensions')) && /\.(?:ts|yaml)$/u.test(place))).toEqual([]);
  expect(seen.some((place) => place.startsWith(path.join(cwd, 'skills')))).toBe(true);
  expect(modules.filter((name) => /^NativeModule (?:child_process|http|https|net)$/u.test(name))).toEqual([]);
});

it('U47 errors print under their own name, though the build shortens names', async () => {
  const text = `${IMPORT} ${MODEL} import { inspect } from 'node:util';
    const pith = await createPith({ model });
    const failed = [createPith({ model: { ...model, specificationVersion: 'v9' } }), pith.run('hi', { output: { type: 'object' } }).result];
    for (const one of failed) console.log(await one.catch((error) => inspect(error).split(':')[0]));
    await pith.close();`;
  const { stdout } = await program(text, { cwd: folderWith() });
  expect(stdout).toBe('PithError\nPithError\n');
});

/** Notes what a guest never does to the process of its host. */
const WATCH = `const done = [];
const note = (target, names, what) => { for (const name of names) { const real = target[name]; target[name] = function (...given) { done.push(what + name + ' ' + String(given[0])); return real.apply(this, given); }; } };
note(process, ['exit', 'reallyExit', 'abort', 'kill', 'chdir', 'umask', 'setUncaughtExceptionCaptureCallback'], 'process.');
note(process, ['on', 'once', 'addListener', 'prependListener', 'prependOnceListener'], 'process.');
note(require('node:child_process'), ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'], '');
note(require('node:child_process').ChildProcess.prototype, ['spawn'], 'ChildProcess.');
note(console, ['log', 'info', 'warn', 'error', 'debug'], 'console.');
require('node:module').syncBuiltinESMExports();
globalThis.done = done;`;

it('U46 over a whole run, with tools, skills, agents, questions and a folder for threads, there is no handler, exit, child process or other folder', async () => {
  const cwd = folderWith({ 'watch.cjs': WATCH, 'skills/notes/SKILL.md': '---\nname: notes\ndescription: Take notes.\n---\nTake notes.\n' });
  const text = `${IMPORT} import { scriptedModel } from '${ROOT}/dist/testing.js'; import { writeFileSync } from 'node:fs';
    import { execFileSync } from 'node:child_process'; globalThis.done.length = 0; // Node itself listens
    const call = (name, input = {}) => ({ calls: [{ name, input }] });
    const pay = [call('delegate_task', { agent_id: 'payer', task: 'Pay.' }), call('pay'), { text: 'paid' }];
    const { model } = scriptedModel([call('read_skill', { skill_id: 'notes' }), ...pay, { text: '5' }, ...pay, { text: 'end' }]);
    let answer = 'yes';
    const pith = await createPith({ model, store: 'threads', skills: ['skills'], approve: () => answer,
      agents: [{ id: 'clerk', delegatesTo: ['payer'], usesSkills: ['notes'] }, { id: 'payer', description: 'Pays.', usesTools: ['pay'] }],
      tools: { pay: { needsApproval: true, execute: async () => 'paid' } },
    });
    const output = { type: 'number' };
    const ends = [await pith.run('go', { thread: 't', output }).result];
    answer = 'later';
    for (const next of [() => pith.run('again', { thread: 'u' }), () => pith.resume('u', { [ends[1].questions[0].id]: 'yes' })]) ends.push(await next().result);
    await pith.skills(); await pith.threads.list(); await pith.threads.messages('t'); await pith.threads.remove('t');
    await pith.close();
    const done = [...globalThis.done];
    process.on('SIGUSR2', () => {}); execFileSync('true');
    writeFileSync('seen.json', JSON.stringify({ done, control: globalThis.done, ends }));`;
  await program(text, { cwd, argv: ['--require', path.join(cwd, 'watch.cjs')] });
  const { done, control, ends } = JSON.parse(readFileSync(path.join(cwd, 'seen.json'), 'utf8')) as {
    readonly done: readonly string[];
    readonly control: readonly string[];
    readonly ends: readonly { readonly status: string }[];
  };
  expect(ends.map(({ status }) => status)).toEqual(['done', 'waiting', 'done']);
  expect(done).toEqual([]);
  expect(control).toEqual(['process.on SIGUSR2', 'execFileSync true']);
});

it('U46 U47 a run keeps the process alive until its limits end it, with a tool, a question and a model that never answer', async () => {
  const text = `${IMPORT} import { scriptedModel } from '${ROOT}/dist/testing.js';
    const never = () => new Promise(() => {});
    const call = (name) => scriptedModel([{ calls: [{ name, input: {} }] }, { text: 'went on' }]);
    const tools = { hang: { timeoutMs: 20, execute: never }, ask: { needsApproval: true, execute: () => 'done' } };
    async function main() {
      for (const options of [
        { model: call('hang') },
        { model: call('hang'), tools: { hang: never }, limits: { ms: 20 } },
        { model: { ...call('ask').model, doStream: never }, limits: { ms: 20 } },
        { model: call('ask'), approve: (_, signal) => (setTimeout(() => stop.abort(), 20).unref(), never()) },
      ]) {
        const pith = await createPith({ tools, ...options });
        const { status, text } = await pith.run('go', { signal: stop.signal }).result;
        console.log(status, text);
        await pith.close();
      }
    }
    const stop = new AbortController();
    main();`;
  expect((await program(text, { cwd: folderWith() })).stdout).toBe('done went on\nlimit \nlimit \naborted \n');
});

const INSTANCES = process.env['PITH_TEST_LONG'] === '1' ? 200 : 40;

it('U46 instances that are made and closed leave no memory, files, timers and listeners behind', async () => {
  const text = `${IMPORT} ${MODEL}
    import { readdirSync } from 'node:fs';
    const figures = () => (globalThis.gc(), { heap: process.memoryUsage().heapUsed, files: readdirSync('/proc/self/fd').length,
      listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0), resources: process.getActiveResourcesInfo().length });
    const make = async (count) => { for (let at = 0; at < count; at += 1) { const pith = await createPith({ model, tools: { now: () => 'noon' } }); await pith.run('hi').result; await pith.close(); } };
    await make(30); await new Promise((resolve) => setTimeout(resolve, 50)); // until then code is compiled and kept
    const before = figures();
    await make(${INSTANCES}); await new Promise((resolve) => setTimeout(resolve, 50));
    console.log(JSON.stringify({ before, after: figures() }));`;
  const { stdout } = await program(text, { cwd: folderWith(), argv: ['--expose-gc'] });
  const { before, after } = JSON.parse(stdout) as Record<'before' | 'after', Record<string, number>>;
  expect([after['files'], after['listeners'], after['resources']]).toEqual([before['files'], before['listeners'], before['resources']]);
  expect((after['heap']! - before['heap']!) / INSTANCES).toBeLessThan(30 * 1024);
});

/** Calls the tool with the canary of the request, and answers with what the tool said. */
const ECHO = `const model = { specificationVersion: 'v3', provider: 'own', modelId: 'm', doStream: async ({ prompt }) => ({ stream: (async function* () {
  const text = JSON.stringify(prompt);
  const found = [...new Set(text.match(/canary-\\d+/g))];
  const isAsked = prompt.at(-1).role === 'tool';
  yield { type: 'stream-start', warnings: [] };
  if (isAsked) { yield { type: 'text-start', id: '1' }; yield { type: 'text-delta', id: '1', delta: found.join(' ') + (text.includes('echo of ' + found[0]) ? '' : ' without echo') }; yield { type: 'text-end', id: '1' }; }
  else yield { type: 'tool-call', toolCallId: 'call', toolName: 'echo', input: JSON.stringify({ word: found.join(' ') }) };
  yield { type: 'finish', finishReason: { unified: isAsked ? 'stop' : 'tool-calls' }, usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } } };
})() }) };
const gates = []; let isOpen = true;
const tools = { echo: { description: 'Echoes.', inputSchema: { type: 'object', properties: { word: { type: 'string' } } },
  execute: async ({ word }) => { if (!isOpen) await new Promise((open) => gates.push(open)); return 'echo of ' + word; } } };`;

it('U46 100 runs at once have only their own text, tools, thread and events, and at most 300 KB each', async () => {
  const text = `${IMPORT} ${ECHO}
    const heap = () => (globalThis.gc(), process.memoryUsage().heapUsed);
    const pith = await createPith({ model, tools });
    await Promise.all(Array.from({ length: 10 }, (_, at) => pith.run('say canary-9' + at).result));
    const before = heap();
    isOpen = false;
    const runs = Array.from({ length: 100 }, (_, at) => ({ canary: 'canary-' + at, run: pith.run('say canary-' + at) }));
    const read = runs.map(async ({ canary, run }) => {
      const events = []; for await (const event of run) events.push(event);
      const words = [];  for await (const word of run.text) words.push(word);
      return { canary, events: [...new Set(JSON.stringify(events).match(/canary-\\d+/g))], words: words.join(''), ...(await run.result) };
    });
    while (gates.length < 100) await new Promise((resolve) => setTimeout(resolve, 5));
    const each = (heap() - before) / 100;
    for (const open of gates) open();
    const wrong = [];
    for (const { canary, events, words, text, thread } of await Promise.all(read)) {
      const kept = [...new Set(JSON.stringify(await pith.threads.messages(thread)).match(/canary-\\d+/g))];
      if ([events.join(), words, text, kept.join()].some((found) => found !== canary)) wrong.push({ canary, events, words, text, kept });
    }
    const threads = new Set(runs.map(({ run }) => run.thread)).size;
    await pith.close();
    console.log(JSON.stringify({ wrong, threads, each }));`;
  const { stdout } = await program(text, { cwd: folderWith(), argv: ['--expose-gc'] });
  const { wrong, threads, each } = JSON.parse(stdout) as { readonly wrong: unknown[]; readonly threads: number; readonly each: number };
  expect([wrong, threads]).toEqual([[], 100]);
  expect(each).toBeLessThan(300 * 1024);
});

it('U46 nothing is unhandled: failures that nobody asks for, runs that are left, stopped or closed, tools and answers that throw', async () => {
  const text = `${IMPORT} ${ECHO}
    const unhandled = []; process.on('unhandledRejection', (error) => unhandled.push(String(error)));
    const broken = { ...model, doStream: async () => { throw new Error('broken'); } };
    const failing = await createPith({ model: broken });
    failing.run('nobody asks');
    const read = async (loop) => { try { for await (const _ of loop); } catch { /* as the result */ } };
    await read(failing.run('read only'));
    await failing.close();
    const pith = await createPith({ model, tools: { echo: { ...tools.echo, needsApproval: true } }, approve: () => { throw new Error('no answer'); } });
    pith.run('canary-1');
    await read(pith.run('canary-2').text);
    const throws = await createPith({ model, tools: { echo: () => { throw new Error('in the tool'); } } });
    const ended = await throws.run('canary-3').result;
    for await (const event of throws.run('canary-4')) break;
    throws.run('canary-5', { signal: AbortSignal.timeout(1) });
    throws.run('canary-6');
    await Promise.all([pith.close(), throws.close()]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    console.log(JSON.stringify({ unhandled, status: ended.status }));`;
  const { stdout, stderr } = await program(text, { cwd: folderWith() });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual({ unhandled: [], status: 'done' });
});
