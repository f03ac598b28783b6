import { execFileSync } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { SkillProvider } from 'pith';
import { fakeClock, type FakeClock, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { CALL, NEVER } from '../../../core/kernel/extensions.ts';
import { TURN } from '../../../fixtures/agent-spec.ts';
import { kernelOf } from '../../../places.ts';
import { stampsHold, until } from '../../../waiting.ts';
import { words } from '../../../words.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';

let pith: TestKernel;
let clock: FakeClock;
const start = async (more: Partial<TestKernelOptions> = {}): Promise<void> => {
  clock = fakeClock();
  const files = { 'pith.yaml': 'extensions_sandbox: off\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0 }\n' };
  pith = await kernelOf({ clock, files, only: ['skill_scripts'], ...more });
};
beforeEach(() => start());

const HEAD = `import { defineTool, Tool, z } from 'pith';
const tool = (name, execute, more = {}) => defineTool({ name, description: 'd', input: z.object({ n: z.number().optional() }), execute, ...more });`;

const write = (file: string, text: string): Promise<void> => pith.write(`skills/${file}`, text);
const directoryOf = (id: string): string => path.join(pith.sandbox, 'skills', id);
const host = () => pith.kernel.host;
const show = (id: string) => host().extensions.show(`toolset:${id}`);

/** A module that exports these tools as `list`. */
const writeList = (file: string, tools: string, imports = ''): Promise<void> =>
  write(file, `${HEAD}\n${imports}\nexport const list = [${tools}];`);

/** A skill that names these modules. */
const named = (id: string, ...modules: readonly string[]): Promise<void> =>
  write(`${id}/SKILL.md`, `---\nname: ${JSON.stringify(id)}\ndescription: Knows it.\ntoolsets: ${JSON.stringify(modules)}\n---\nText.\n`);

/** As a turn opens it that has the skill. */
const bring = (id: string) => host().dynamic.open('skill_scripts', `toolset:${id}`).opened;

async function open(id: string, ...modules: readonly string[]) {
  await named(id, ...modules);
  await clock.advance(260); // S22: a look at the disk holds for a quarter of a second
  return bring(id);
}

const call = (id: string, tool: string, input = {}) =>
  host().providers.tools.call(`toolset:${id}`, tool, input, { ...CALL, signal: NEVER });

describe('the toolset of a skill', () => {
  it('S70: brings the tools of an array, of a class with getTools() and of Tool.define, from a separate process', async () => {
    await writeList(
      'hello/toolsets/index.ts',
      `tool('greet', () => ({ word, pid: process.pid, cwd: process.cwd() }))`,
      `import { word } from '../lib/word';`,
    );
    await write('hello/lib/word.ts', `export const word: string = 'hi';`);
    await write('hello/toolsets/more.js', `${HEAD}\nexport class Hello { getTools() { return [tool('bye', async () => 'bye')]; } }`);
    await write(
      'hello/old/index.mjs',
      `${HEAD}\nexport default [Tool.define('old', { description: 'd', parameters: z.object({}), execute: () => ({ title: 'T', output: 'old' }) })];`,
    );
    const opened = await open('hello', 'toolsets/index:list', 'toolsets/more.js:Hello', 'old:default');
    expect(opened).toMatchObject({ problems: [] });
    expect(opened.tools.map(({ name }) => name)).toEqual(['greet', 'bye', 'old']);
    const { output } = (await call('hello', 'greet')) as unknown as { output: { word: string; pid: number; cwd: string } };
    expect(output).toMatchObject({ word: 'hi', cwd: path.join(pith.sandbox, 'data', 'extensions', 'toolset:hello') });
    expect(output.pid).not.toBe(process.pid);
    expect(await call('hello', 'old')).toMatchObject({ ok: true, output: 'old', title: 'T' });
    expect(await host().providers.tools.needsApproval('toolset:hello', 'bye', {}, TURN)).toBe(false);
    expect(show('hello')).toMatchObject({ state: 'active', tier: 'process' });
    expect(host().extensions.ids()).not.toContain('toolset:hello'); // '*' does not mean what a skill brings
  });

  it('S70 one whose skill goes while it is opened is not there, and its tools are gone', async () => {
    await write(
      'slow/index.ts',
      `${HEAD}\nawait new Promise((resolve) => setTimeout(resolve, 400));\nexport const list = [tool('t', () => 1)];`,
    );
    await named('slow', 'index:list');
    await clock.advance(260);
    const opened = bring('slow').then(
      () => 'opened',
      (error: unknown) => String(error),
    );
    await expect.poll(() => show('slow')).not.toBeNull();
    await pith.remove('skills/slow');
    await clock.advance(260);
    expect(await (await host().providers.active(SkillProvider))[0]!.listSkills()).toEqual([]); // as a poll would look
    expect(await opened).toContain("'skill_scripts' does not declare it at the moment");
    await expect.poll(() => show('slow')).toBeNull();
    expect(await call('slow', 't')).toMatchObject({ ok: false });
  });

  it('S70 one whose code changes while it is opened comes with the tools of the new code', async () => {
    const slow = (name: string) =>
      write(
        'slow/index.ts',
        `${HEAD}\nawait new Promise((resolve) => setTimeout(resolve, 300));\nexport const list = [tool('${name}', () => 1)];`,
      );
    await slow('one');
    await named('slow', 'index:list');
    await clock.advance(260);
    const opened = bring('slow');
    await expect.poll(() => show('slow')).not.toBeNull();
    await slow('two');
    await pith.kernel.events.publish('provider.changed', { extensionId: 'skill_scripts', protocol: 'declarations' });
    expect((await opened).tools.map(({ name }) => name)).toEqual(['two']);
    expect(await call('slow', 'two')).toMatchObject({ ok: true });
  });

  it('S70: what is wrong with one module is told with its name and the cure, and the others load', async () => {
    await writeList('mixed/good.ts', `tool('good', () => 1), { name: 'odd' }, tool('x'.repeat(200), () => 1), tool('good', () => 2)`);
    await write('mixed/broken.ts', `export const list = [;`);
    await write('mixed/throws.ts', `throw new Error('at import');`);
    await write('mixed/exits.ts', `${HEAD}\nprocess.exit(0);\nexport const list = [];`);
    await write('mixed/kernel.ts', `import { createKernel } from '../../../core/kernel.ts';\nexport const list = [createKernel];`);
    await write(
      'mixed/waits.ts',
      `${HEAD}\nexport class Slow { getTools() { return new Promise(() => {}); } }\nexport const empty = [];\nexport const number = 7;`,
    );
    await write('outside.ts', `export const list = [];`);
    await symlink(path.join(pith.sandbox, 'skills', 'outside.ts'), path.join(directoryOf('mixed'), 'linked.ts'));
    const specs = [
      'good:list',
      'broken:list',
      'throws:list',
      'exits:list',
      'kernel:list',
      ...(isLong ? ['waits:Slow'] : []), // waits for five seconds
      'waits:empty',
      'waits:number',
      'good:lost',
    ];
    const wrong = words(`
      ../outside:list /etc/passwd:x linked:list gone:list good data:text/javascript,1:x node:fs:x node:fs file:///etc/x.js:x
      http://h/x.js:x :x
    `);
    const { tools, problems } = await open('mixed', ...specs, ...wrong);
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    const said = new Map(problems.map(({ message }) => [/^toolset '(.*?)' of the skill 'mixed': /.exec(message)?.[1], message]));
    expect([...said.keys()].sort()).toEqual([...specs, ...wrong].sort());
    expect(said.get('broken:list')).toContain('broken.ts:1: Unexpected ";"');
    expect(said.get('throws:list')).toContain('at import');
    expect(said.get('exits:list')).toMatch(/process\.exit|exit/);
    expect(said.get('kernel:list')).toContain("leaves the toolset's folder");
    expect(said.get('waits:Slow') ?? 'within 5 s').toContain('within 5 s');
    expect(said.get('waits:empty')).toContain('brings no tools');
    expect(said.get('waits:number')).toContain('neither an array of tools nor a class with getTools()');
    expect(said.get('good:lost')).toContain("no export 'lost'; it exports list");
    for (const spec of ['../outside:list', '/etc/passwd:x', 'linked:list']) expect(said.get(spec)).toContain("leaves the skill's folder");
    for (const spec of ['data:text/javascript,1:x', 'node:fs:x', 'node:fs', 'file:///etc/x.js:x', 'http://h/x.js:x'])
      expect(said.get(spec)).toContain('code from elsewhere');
    expect(said.get('gone:list')).toContain("there is no file 'gone'");
    expect(show('mixed')?.notes.map(({ code }) => code)).toContain('toolset_invalid');
    expect(show('mixed')).toMatchObject({ state: 'active', phase: 'import', code: 'exit_refused' });
    const all = problems.map(({ message }) => message).join('\n');
    expect(all).toContain("tool 'odd' lacks input: a zod schema");
    expect(all).toContain('cannot be the name of a tool');
    expect(all).toContain("a tool 'good' is there already");
    expect(await call('mixed', 'good')).toMatchObject({ output: 1 });
  });

  it('S70: nothing of a toolset that brings nothing is offered, and the reason names skill, module and cure', async () => {
    await write('none/index.ts', `${HEAD}\nexport const list = 'no list';`);
    await expect(open('none', 'index:list', 'gone:x')).rejects.toThrow(
      /toolset 'index:list' of the skill 'none': 'list' is neither[^]*toolset 'gone:x'[^]*add the file/,
    );
    expect(show('none')).toMatchObject({ state: 'failed', code: 'toolset_invalid', file: path.join(directoryOf('none'), 'SKILL.md') });
    await writeList('none/index.ts', `tool('now', () => 1)`);
    expect((await open('none', 'index:list')).tools).toHaveLength(1);
    await write('none/index.ts', `export const list = [;`);
    const broken = await open('none', 'index:list');
    expect(broken.tools.map(({ name }) => name)).toEqual(['now']); // what ran goes on
    expect(broken.problems[0]?.message).toContain('still running the previous one');
  });

  it('S70: a toolset that loops, exits, floods or is killed costs its own calls only', async () => {
    await pith.stop();
    await start({ env: { OPENAI_API_KEY: 'secret' }, clock: undefined }); // time passes for what loops
    const dies = `while (true) {}`;
    await writeList(
      'wild/index.ts',
      `
      tool('loop', () => { ${dies} }, { timeoutMs: 200 }), tool('exit', () => process.kill(process.pid, 'SIGKILL')), tool('fine', () => process.pid),
      tool('flood', () => 'x'.repeat(50_000_000)), tool('spies', async () => {
        const fs = await import('node:fs');
        const body = Buffer.from(JSON.stringify([0, 1, 'kv.set', ['k', 1]])); const head = Buffer.alloc(4); head.writeUInt32LE(body.length);
        fs.writeSync(3, Buffer.concat([head, body])); return Object.keys(process.env).sort();
      })`,
    );
    await writeList('calm/index.ts', `tool('fine', () => process.pid)`);
    for (const id of ['wild', 'calm']) await named(id, 'index:list');
    for (const id of ['wild', 'calm']) await bring(id);
    const { output: calm } = (await call('calm', 'fine')) as unknown as { output: number };
    const { output: wild } = (await call('wild', 'fine')) as unknown as { output: number };
    expect(await call('wild', 'spies')).toMatchObject({ ok: true, output: expect.not.arrayContaining(['OPENAI_API_KEY']) });
    expect(show('wild')).toMatchObject({ state: 'active' }); // it asked for what only extensions may
    expect(await call('wild', 'flood')).toMatchObject({ ok: false });
    const loop = call('wild', 'loop');
    expect(await loop).toMatchObject({ ok: false, error: { code: 'tool_timeout' } });
    process.kill(wild, 'SIGKILL');
    await until(() => show('wild')?.state !== 'active');
    expect(show('wild')).toMatchObject({ code: 'process_ended' });
    expect(await call('calm', 'fine')).toMatchObject({ output: calm });
    const { output: again } = (await call('wild', 'fine')) as unknown as { output: number };
    expect(again).not.toBe(wild);
    expect(await call('wild', 'exit')).toMatchObject({ ok: false, error: { message: expect.stringContaining('refused') } });
  });

  it('S70: ids are names of folders, in any script; two skills may bring the same tool', async () => {
    const ids = ['wetter-ünö', 'My Skill', '天气', 'toolset'];
    for (const id of ids) await writeList(`${id}/index.ts`, `tool('same', () => [${JSON.stringify(id)}, process.cwd()])`);
    for (const id of ids) await open(id, 'index:list', ...(id === 'toolset' ? ['gone:x'] : []));
    expect(show('toolset')).toMatchObject({ state: 'active', code: 'toolset_invalid' });
    for (const id of ids)
      expect(await call(id, 'same')).toMatchObject({ output: [id, path.join(pith.sandbox, 'data', 'extensions', `toolset:${id}`)] });
  });

  it('S70: code is loaded anew when it changes, not when a text does; it is known without a process after a restart', async () => {
    await writeList('hello/index.ts', `tool('greet', () => [word, process.pid])`, `import { word } from './word.ts';`);
    await write('hello/word.ts', `export const word = 'one';`);
    const greet = async () => ((await call('hello', 'greet')) as unknown as { output: [string, number] }).output;
    await open('hello', 'index:list');
    const [, first] = await greet();
    await write('hello/SKILL.md', 'another text');
    await stampsHold(pith.sandbox);
    await open('hello', 'index:list');
    expect(await greet()).toEqual(['one', first]);
    await write('hello/word.ts', `export const word = 'two';`);
    await open('hello', 'index:list');
    expect((await greet())[0]).toBe('two');
    await host().extensions.refresh(); // a look at the folders of extensions does not end it
    expect((await greet())[0]).toBe('two');
    await pith.restart();

    expect((await open('hello', 'index:list')).tools.map(({ name }) => name)).toEqual(['greet']);
    expect(show('hello')?.state).toBe('idle');
  });

  it('S70: a change is seen wherever the code lies: hidden, found before another, or not there before', async () => {
    await writeList('hid/index.ts', `tool('say', () => say)`, `import { say } from './.lib/impl';`);
    await write('hid/.lib/impl.js', `export const say = 'v1';`);
    const opened = async () => {
      await open('hid', 'index:list');
      return ((await call('hid', 'say')) as { output?: unknown }).output;
    };
    expect(await opened()).toBe('v1');
    await write('hid/.lib/impl.js', `export const say = 'v2';`);
    expect(await opened()).toBe('v2');
    await write('hid/.lib/impl.ts', `export const say = 'v3';`); // is found before .js
    expect(await opened()).toBe('v3');
    await write('hid/index.ts', `import './gone';`);
    await open('hid', 'index:list');
    await writeList('hid/index.ts', `tool('say', () => say)`, `import { say } from './gone/deep';`);
    await open('hid', 'index:list');
    await stampsHold(pith.sandbox); // what is there is no longer fresh
    await open('hid', 'index:list');
    await write('hid/gone/deep.ts', `export const say = 'v4';`);
    expect(await opened()).toBe('v4');
  });

  it('S14 S70: packages come from the folder of the skill or from Pith, not from what lies around', async () => {
    await pith.write('skills/node_modules/around/index.js', `module.exports = 'around';`);
    await write('pack/node_modules/own/index.js', `module.exports = 'own';`);
    await writeList('pack/own.ts', `tool('own', () => own)`, `import own from 'own';`);
    await writeList('pack/around.ts', `tool('around', () => around)`, `import around from 'around';`);
    const { tools, problems } = await open('pack', 'own:list', 'around:list');
    expect(tools.map(({ name }) => name)).toEqual(['own']);
    expect(problems[0]?.message).toContain(
      "Cannot find package 'around' from the toolset's folder nor from Pith; import what Pith gives from 'pith'",
    );
    expect(await call('pack', 'own')).toMatchObject({ output: 'own' });
  });

  it('S70: a computed import brings in nothing from outside, nor does a pipe hold anybody up', async () => {
    await pith.write('secret.json', '{"key": 1}');
    await write(
      'glob/index.ts',
      `${HEAD}\nconst name = 'secret';\nexport const list = [tool('a', () => import(\`../../\${name}.json\`))];`,
    );
    await writeList('walk/index.ts', `tool('a', (x) => require('.' + './../../../../../../../' + x))`);
    await writeList('linked/index.ts', `tool('a', (x) => import(\`./up/\${x}.json\`))`);
    await symlink(pith.sandbox, path.join(directoryOf('linked'), 'up'));
    await write('pipe/index.ts', `import './pipe.ts';\n${HEAD}\nexport const list = [tool('a', () => 1)];`);
    execFileSync('mkfifo', [path.join(directoryOf('pipe'), 'pipe.ts')]);
    await expect(open('glob', 'index:list')).rejects.toThrow(/computed import leaves the toolset's folder/);
    for (const id of ['walk', 'linked'])
      await expect(open(id, 'index:list')).rejects.toThrow(/a computed import leaves the toolset's folder/);
    await expect(open('pipe', 'index:list')).rejects.toThrow(/is not a file/);
  });

  it('S70: no source map and no description of a package is read from elsewhere', async () => {
    const end = (to: string): string => `${HEAD}\nexport const list = [tool('a', () => 1)];\n//# sourceMappingURL=${to}`;
    await write('zero/index.ts', end(`${'../kernel/'.repeat(20)}dev/zero`));
    await write('map/index.ts', end('map.pipe'));
    execFileSync('mkfifo', [path.join(directoryOf('map'), 'map.pipe')]);
    await write('json/index.ts', `import './sub/a.ts';\n${HEAD}\nexport const list = [tool('a', () => 1)];`);
    await write('json/sub/a.ts', '');
    execFileSync('mkfifo', [path.join(directoryOf('json'), 'sub/package.json')]);
    for (const id of ['zero', 'map']) expect((await open(id, 'index:list')).tools).toHaveLength(1);
    await expect(open('json', 'index:list')).rejects.toThrow(/sub\/package.json' is not a file/);
  });
});
