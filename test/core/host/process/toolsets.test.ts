import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExtensionHost } from '../../../../core/host/host.ts';
import { CALL, NEVER, testSandbox, type HostSetup, type TestSandbox } from '../sandbox.ts';

let sandbox: TestSandbox;
beforeEach(async () => {
  sandbox = await testSandbox();
  await sandbox.extension('skills', 'tool', 'export default class { getTools() { return []; } }');
});
afterEach(() => sandbox.close());

const HEAD = `import { defineTool, Tool, z } from 'pith';
const tool = (name, execute, more = {}) => defineTool({ name, description: 'd', input: z.object({ n: z.number().optional() }), execute, ...more });`;

async function write(file: string, text: string): Promise<void> {
  await sandbox.write(`skills/${file}`, text);
}

const directoryOf = (id: string): string => path.join(sandbox.directory, 'skills', id);

function open(host: ExtensionHost, id: string, ...modules: readonly string[]) {
  return host.openToolset('skills', { id, directory: directoryOf(id), modules });
}

async function host(setup: HostSetup = {}): Promise<ExtensionHost> {
  return sandbox.host(setup);
}

const call = (of: ExtensionHost, id: string, tool: string, input = {}) => of.callTool(`toolset:${id}`, tool, input, CALL, NEVER);

describe('the toolset of a skill', () => {
  it('S70: brings the tools of an array, of a class with getTools() and of Tool.define, from a process of its own', async () => {
    await write(
      'hello/toolsets/index.ts',
      `${HEAD}\nimport { word } from '../lib/word';\nexport const list = [tool('greet', () => ({ word, pid: process.pid, cwd: process.cwd() }))];`,
    );
    await write('hello/lib/word.ts', `export const word: string = 'hi';`);
    await write('hello/toolsets/more.js', `${HEAD}\nexport class Hello { getTools() { return [tool('bye', async () => 'bye')]; } }`);
    await write(
      'hello/old/index.mjs',
      `${HEAD}\nexport default [Tool.define('old', { description: 'd', parameters: z.object({}), execute: () => ({ title: 'T', output: 'old' }) })];`,
    );
    const of = await host();
    const opened = await open(of, 'hello', 'toolsets/index:list', 'toolsets/more.js:Hello', 'old:default');
    expect(opened).toMatchObject({ extensionId: 'toolset:hello', notes: [] });
    expect(opened.tools.map(({ name }) => name)).toEqual(['greet', 'bye', 'old']);
    const { output } = (await call(of, 'hello', 'greet')) as unknown as { output: { word: string; pid: number; cwd: string } };
    expect(output).toMatchObject({ word: 'hi', cwd: path.join(sandbox.directory, 'data', 'toolsets', 'hello') });
    expect(output.pid).not.toBe(process.pid);
    expect(await call(of, 'hello', 'old')).toMatchObject({ ok: true, output: 'old', title: 'T' });
    expect(await of.needsApproval('toolset:hello', 'bye', {})).toBe(false);
    expect(of.show('toolset:hello')).toMatchObject({ state: 'active', tier: 'process' });
    expect(of.ids()).not.toContain('toolset:hello'); // '*' does not mean what a skill brings
  });

  it('S70: what is wrong with one module is told with its name and the cure, and the others load', async () => {
    await write(
      'mixed/good.ts',
      `${HEAD}\nexport const list = [tool('good', () => 1), { name: 'odd' }, tool('x'.repeat(200), () => 1), tool('good', () => 2)];`,
    );
    await write('mixed/broken.ts', `export const list = [;`);
    await write('mixed/throws.ts', `throw new Error('at import');`);
    await write('mixed/exits.ts', `${HEAD}\nprocess.exit(0);\nexport const list = [];`);
    await write('mixed/kernel.ts', `import { createKernel } from '../../../core/kernel.ts';\nexport const list = [createKernel];`);
    await write(
      'mixed/waits.ts',
      `${HEAD}\nexport class Slow { getTools() { return new Promise(() => {}); } }\nexport const empty = [];\nexport const number = 7;`,
    );
    await write('outside.ts', `export const list = [];`);
    await symlink(path.join(sandbox.directory, 'skills', 'outside.ts'), path.join(directoryOf('mixed'), 'linked.ts'));
    const specs = [
      'good:list',
      'broken:list',
      'throws:list',
      'exits:list',
      'kernel:list',
      'waits:Slow',
      'waits:empty',
      'waits:number',
      'good:lost',
    ];
    const wrong = [
      '../outside:list',
      '/etc/passwd:x',
      'linked:list',
      'gone:list',
      'good',
      'data:text/javascript,1:x',
      'node:fs:x',
      'node:fs',
      'file:///etc/x.js:x',
      'http://h/x.js:x',
      ':x',
    ];
    const of = await host();
    const { tools, notes } = await open(of, 'mixed', ...specs, ...wrong);
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    const said = new Map(notes?.map(({ message }) => [/^toolset '(.*?)' of the skill 'mixed': /.exec(message)?.[1], message]));
    expect([...said.keys()].sort()).toEqual([...specs, ...wrong].sort());
    expect(said.get('broken:list')).toContain('broken.ts:1: Unexpected ";"');
    expect(said.get('throws:list')).toContain('at import');
    expect(said.get('exits:list')).toMatch(/process\.exit|exit/);
    expect(said.get('kernel:list')).toContain("leaves the skill's folder");
    expect(said.get('waits:Slow')).toContain('within 5 s');
    expect(said.get('waits:empty')).toContain('brings no tools');
    expect(said.get('waits:number')).toContain('neither an array of tools nor a class with getTools()');
    expect(said.get('good:lost')).toContain("no export 'lost'; it exports list");
    for (const spec of ['../outside:list', '/etc/passwd:x', 'linked:list']) expect(said.get(spec)).toContain("leaves the skill's folder");
    for (const spec of ['data:text/javascript,1:x', 'node:fs:x', 'node:fs', 'file:///etc/x.js:x', 'http://h/x.js:x'])
      expect(said.get(spec)).toContain('code from elsewhere');
    expect(said.get('gone:list')).toContain("there is no file 'gone'");
    expect(of.show('toolset:mixed')?.notes.map(({ code }) => code)).toContain('toolset_invalid');
    const all = notes?.map(({ message }) => message).join('\n');
    expect(all).toContain("tool 'odd' lacks input: a zod schema");
    expect(all).toContain('cannot be the name of a tool');
    expect(all).toContain("a tool 'good' is there already");
    expect(await call(of, 'mixed', 'good')).toMatchObject({ output: 1 });
  });
});
