import { probeSandboxing } from '@pith/supervised-process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { folderWith } from '../../places.ts';
import { callTool, testSandbox, type TestSandbox } from '../kernel/extensions.ts';

const sandboxing = await probeSandboxing();
const why = sandboxing.available ? '' : ` (skipped: ${sandboxing.why})`;

let sandbox: TestSandbox;
let elsewhere: string;
beforeEach(() => {
  sandbox = testSandbox();
  elsewhere = folderWith({ 'index.js': tools('greet') });
});

const tools = (name: string): string =>
  `import { defineTool, z } from 'pith'; export const list = [defineTool({ name: '${name}', description: 'd', input: z.object({}), execute: () => '${name}' })];`;

/** An extension that opens whatever it is asked to bring, of `elsewhere` unless `more` says more. */
async function bringer(id: string, provides = 'tool, brought', more = ''): Promise<void> {
  await sandbox.write(
    `extensions/${id}/make.ts`,
    `export default async (_, [module]) => { const { list } = await module.load(); return class { getTools() { return list; } }; };`,
  );
  await sandbox.extension(
    id,
    provides,
    `import path from 'node:path'; import { BroughtExtensions } from 'pith';
    export default class {
      constructor(context) { this.context = context; }
      getTools() { return []; }
      async bring(id) {
        const directory = ${JSON.stringify(elsewhere)};
        const extension = { id, directory, file: directory, entry: path.join(this.context.directory, 'make.ts'), modules: [{ name: 'it', file: 'index.js' }], ${more} };
        try {
          const brought = this.context.use(BroughtExtensions);
          await brought.open(extension, (await brought.prepare(extension)).digest);
          return [];
        } catch ({ code, message }) { return [{ severity: 'error', code, message }]; }
      }
      async bringAll() {}
    }`,
  );
}

describe('an extension that another one brings', () => {
  it('has the tools of its code, is listed, and closes with the one that brought it', async () => {
    await bringer('mine');
    const host = await sandbox.host();
    expect(await host.brought.open('mine', 'set:one')).toMatchObject({ extensionId: 'set:one', tools: [{ name: 'greet' }] });
    expect(await callTool(host, 'set:one', 'greet')).toMatchObject({
      ok: true,
      output: 'greet',
    });
    expect(host.extensions.show('set:one')).toMatchObject({ state: 'active', tier: 'process' });
    expect(host.extensions.ids()).toEqual(['mine']); // '*' does not mean it
    await host.extensions.reload('mine');
    expect(host.extensions.show('set:one')).toBeNull();
    await host.brought.open('mine', 'set:one');
    await sandbox.remove('extensions/mine');
    await host.extensions.refresh();
    expect(host.extensions.show('set:one')).toBeNull();
  });

  it.each(['set:', 'set:..', 'set:a/b', 'set:a\0', `set:${'x'.repeat(300)}`, 'mine', ':a'])('cannot be called %j', async (id) => {
    await bringer('mine');
    const host = await sandbox.host();
    await expect(host.brought.open('mine', id)).rejects.toMatchObject({
      code: 'not_allowed',
      message: expect.stringContaining('cannot be its id'),
    });
  });

  it('is not opened by an extension that does not say so, runs apart, has no such id, or begins with code that is not its own', async () => {
    await bringer('mine');
    await bringer('other');
    await bringer('silent', 'tool');
    await bringer('thief', 'tool, brought', `entry: path.join(directory, 'index.js')`);
    await bringer('lost', 'tool, brought', `directory: '/nowhere'`);
    const host = await sandbox.host();
    await host.brought.open('mine', 'set:one');
    await expect(host.brought.open('other', 'set:one')).rejects.toThrow("'mine' brings one of that id");
    await expect(host.brought.open('silent', 'set:two')).rejects.toThrow('brought.bring');
    await expect(host.brought.open('thief', 'set:two')).rejects.toThrow("its entry is no file of 'thief'");
    await expect(host.brought.open('lost', 'set:two')).rejects.toThrow("the folder of 'set:two' cannot be read");
    await host.stop();
    const apart = await sandbox.host({ isolation: 'process' });
    await expect(apart.brought.open('mine', 'set:one')).rejects.toMatchObject({ code: 'not_declared' });
  });
});

describe.runIf(sandboxing.available)(`an extension that is brought, in bubblewrap${why}`, () => {
  it('S70: sees its folder and the project, writes into its data only, and has no network', async () => {
    const server = createServer((_, response) => response.end('reached')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const folder = path.join(elsewhere, 'skill');
    const data = path.join(sandbox.directory, 'data');
    await bringer('mine', 'tool, brought', `directory: ${JSON.stringify(folder)}`);
    await sandbox.write('notes.md', 'notes');
    await sandbox.write('data/brought/set/other/state.txt', 'of another');
    await sandbox.write('data/secrets.json', '{}');
    await sandbox.write(`../${path.relative(path.dirname(sandbox.directory), folder)}/note.txt`, 'of the folder');
    await writeFile(path.join(elsewhere, 'beside.txt'), 'beside it');
    const reads = [path.join(folder, 'note.txt'), path.join(sandbox.directory, 'notes.md'), 'mine.txt'];
    const refused = [path.join(elsewhere, 'beside.txt'), path.join(data, 'brought/set/other/state.txt'), path.join(data, 'secrets.json')];
    await writeFile(
      path.join(folder, 'index.js'),
      `import fs from 'node:fs'; import { defineTool, z } from 'pith';
      const tried = async (run) => { try { return String(await run()); } catch (error) { return 'refused'; } };
      export const list = [defineTool({ name: 'look', description: 'd', input: z.object({}), execute: async () => {
        fs.writeFileSync('mine.txt', 'mine');
        const seen = [];
        for (const file of ${JSON.stringify([...reads, ...refused])}) seen.push(await tried(() => fs.readFileSync(file, 'utf8')));
        seen.push(await tried(() => fs.writeFileSync(${JSON.stringify(path.join(folder, 'index.js'))}, 'changed')));
        seen.push(await tried(async () => (await fetch('http://127.0.0.1:${(server.address() as AddressInfo).port}')).text()));
        return seen;
      } })];`,
    );
    const host = await sandbox.host({ flags: {} });
    await host.brought.open('mine', 'set:sky 天');
    const result = await callTool(host, 'set:sky 天', 'look');
    server.close();
    expect(result).toMatchObject({
      ok: true,
      output: ['of the folder', 'notes', 'mine', 'refused', 'refused', 'refused', 'refused', 'refused'],
    });
  });
});
