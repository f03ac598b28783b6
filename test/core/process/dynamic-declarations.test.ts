import { probeSandboxing } from '@pith/supervised-process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { folderWith } from '../../places.ts';
import { until } from '../../waiting.ts';
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

/** An extension that declares whatever it is asked for while `there` is a file beside it, of `elsewhere` unless `more` says more. */
async function declarer(id: string, provides = 'tool, declarations', more = ''): Promise<void> {
  await sandbox.write(`extensions/${id}/contract.ts`, `export const make = (list: unknown) => class { getTools() { return list; } };`);
  await sandbox.write(`extensions/${id}/data/there`, '');
  await sandbox.extension(
    id,
    provides,
    `import fs from 'node:fs'; import path from 'node:path'; import { Bundler } from 'pith';
    export default class {
      constructor(context) { this.context = context; }
      getTools() { return []; }
      async declarations(id) {
        if (!fs.existsSync(path.join(this.context.directory, 'data/there'))) return [];
        const folder = ${JSON.stringify(elsewhere)};
        const main = "import { make } from 'pith/${id}'; import { list } from './index.js'; export default make(list);";
        const declared = { folder, file: folder, manifest: { id: id ?? 'set:one' }, main, ${more} };
        return [{ digest: (await this.context.use(Bundler).inspect(declared)).digest, ...declared }];
      }
    }`,
  );
}

const open = (host: Awaited<ReturnType<TestSandbox['host']>>, id: string, provider = 'mine') => host.dynamic.open(provider, id).opened;

describe('A5 an extension that another one declares', () => {
  it('A5 has the tools of its code, is listed, follows its code and lives as long as it is declared, also over a reload of who declares it', async () => {
    await declarer('mine');
    const host = await sandbox.host();
    expect(await open(host, 'set:one')).toMatchObject({ tools: [{ name: 'greet' }], problems: [] });
    expect(await callTool(host, 'set:one', 'greet')).toMatchObject({ ok: true, output: 'greet' });
    expect(host.extensions.show('set:one')).toMatchObject({ state: 'active', tier: 'process', manifest: { depends_on: ['mine'] } });
    expect(host.extensions.ids()).toEqual(['mine']); // '*' does not mean it
    await host.extensions.reload('mine');
    expect(await callTool(host, 'set:one', 'greet')).toMatchObject({ ok: true });
    await writeFile(path.join(elsewhere, 'index.js'), tools('wave'));
    expect(await open(host, 'set:one')).toMatchObject({ tools: [{ name: 'wave' }] });
    await sandbox.remove('extensions/mine/data');
    await expect(open(host, 'set:one')).rejects.toThrow("'mine' does not declare it at the moment");
    expect(host.extensions.show('set:one')).toBeNull();
  });

  it('A5 goes with who declares it', async () => {
    await declarer('mine');
    const host = await sandbox.host();
    await open(host, 'set:one');
    await sandbox.remove('extensions/mine');
    await host.extensions.refresh();
    await until(() => host.extensions.show('set:one') === null);
    expect((await callTool(host, 'set:one', 'greet')).ok).toBe(false);
  });

  it.each(['set:', 'set:..', 'set:a/b', 'set:a\0', `set:${'x'.repeat(300)}`, 'mine', ':a'])('cannot be called %j', async (id) => {
    await declarer('mine');
    const host = await sandbox.host();
    await expect(open(host, id)).rejects.toMatchObject({ code: 'not_allowed', message: expect.stringContaining('cannot be its id') });
  });

  it('is not opened for an extension that does not say so, is in a process, or has no such id or folder, or other code than was agreed to; all that can be is, to be looked at', async () => {
    await declarer('mine');
    await declarer('other');
    await declarer('silent', 'tool');
    await declarer('lost', 'tool, declarations', `folder: '/nowhere'`);
    await declarer('stale', 'tool, declarations', `digest: 'of code that was agreed to'`);
    const host = await sandbox.host();
    await host.extensions.activateAll();
    expect(host.extensions.show('set:one')).toMatchObject({ state: 'active', manifest: { depends_on: ['mine'] } });
    await expect(open(host, 'set:one', 'other')).rejects.toThrow("'other' declares 'set:one', and so does 'mine'");
    await expect(open(host, 'set:two', 'silent')).rejects.toThrow('declarations.declarations');
    await expect(open(host, 'set:two', 'lost')).rejects.toThrow("the folder of 'set:two' cannot be read");
    await expect(open(host, 'set:three', 'stale')).rejects.toThrow("the code of 'set:three' has just changed");
    await host.stop();
    const apart = await sandbox.host({ isolation: 'process' });
    await expect(open(apart, 'set:one')).rejects.toMatchObject({ code: 'not_declared' });
  });
});

describe.runIf(sandboxing.available)(`an extension that another one declares, in bubblewrap${why}`, () => {
  it('S70: sees its folder and the project, writes into its data only, and has no network', async () => {
    const server = createServer((_, response) => response.end('reached')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const folder = path.join(elsewhere, 'skill');
    const data = path.join(sandbox.directory, 'data');
    await declarer('mine', 'tool, declarations', `folder: ${JSON.stringify(folder)}`);
    await sandbox.write('notes.md', 'notes');
    await sandbox.write('data/extensions/set:other/state.txt', 'of another');
    await sandbox.write('data/secrets.json', '{}');
    await sandbox.write(`../${path.relative(path.dirname(sandbox.directory), folder)}/note.txt`, 'of the folder');
    await writeFile(path.join(elsewhere, 'beside.txt'), 'beside it');
    const reads = [path.join(folder, 'note.txt'), path.join(sandbox.directory, 'notes.md'), 'mine.txt'];
    const refused = [
      path.join(elsewhere, 'beside.txt'),
      path.join(data, 'extensions/set:other/state.txt'),
      path.join(data, 'secrets.json'),
    ];
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
    await open(host, 'set:sky 天');
    const result = await callTool(host, 'set:sky 天', 'look');
    server.close();
    expect(result).toMatchObject({
      ok: true,
      output: ['of the folder', 'notes', 'mine', 'refused', 'refused', 'refused', 'refused', 'refused'],
    });
  });
});
