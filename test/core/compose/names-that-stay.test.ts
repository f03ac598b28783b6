import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { kernelCommands, openKernel } from '../../../core/cli/index.ts';
import { cli } from '../cli/fakes.ts';
import { main, manifest, tools } from '../process/extension.ts';
import { folderWith, kernelOf, writeFiles } from '../../places.ts';

const tool = (name: string) => `defineTool({ name: '${name}', description: 'd', input: z.object({}), execute: () => '${name}' })`;
const command = (at: string) => `{ path: '${at}', description: 'taken', run: async (_, io) => io.print('stranger ran ${at}') }`;

/** Declares what ships under other ids, and what the kernel has. */
const PATHS = ['skills list', 'skills', 'mcp list', 'doctor deep', 'chat', 'mine'];
const CMD = {
  ...manifest('cmd', { provides: ['command'], commands: PATHS.map((at) => ({ path: at, description: `of cmd: ${at}` })) }),
  ...main('cmd', `getCommands() { return [${[...PATHS, 'deploy'].map(command).join()}]; }`),
};

describe('commands', () => {
  let folder: string;
  beforeEach(() => {
    folder = folderWith();
    writeFiles(path.join(folder, 'sandbox'), { ...CMD, 'skills/hello/SKILL.md': '---\nname: hello\ndescription: d\n---\n' });
  });
  const run = (...argv: string[]) => cli(argv, { cwd: folder, openKernel });

  it('T15 F17: the words of shipped commands stay theirs; those of a stranger have its id in front, in help too', async () => {
    expect((await run('skills', 'list')).out).toContain('hello');
    expect((await run('mcp')).out).toContain('No MCP servers');
    expect((await run('mine')).out).toContain('stranger ran mine');
    expect((await run('cmd:skills', 'list')).out).toContain('stranger ran skills list');
    expect((await run('cmd:doctor', 'deep')).out).toContain('stranger ran doctor deep');
    const help = (await run('help', '--all')).out;
    expect(help).toMatch(/^ {2}cmd:skills list +taken/mu);
    expect(help).toMatch(/^ {2}mine +taken/mu);
    expect(help).not.toMatch(/^ {2}skills list +taken/mu);
  });

  it('T15 F17: a folder of the same id in a sandbox of ones own is what ships, for its names', async () => {
    const own = {
      ...manifest('mcp', { provides: ['command'], commands: [{ path: 'mcp list', description: 'own' }] }),
      ...main('mcp', `getCommands() { return [${command('mcp list')}]; }`),
    };
    writeFiles(path.join(folder, 'sandbox'), own);
    expect((await run('mcp', 'list')).out).toContain('stranger ran mcp list');
  });
});

describe('names in a kernel', () => {
  it('T15 F17: doctor says under which name a command of a stranger is reached; two strangers both have their ids in front', async () => {
    const twin = (id: string) => ({
      ...manifest(id, { provides: ['command'], commands: [{ path: 'both' }] }),
      ...main(id, `getCommands() { return [${command('both')}]; }`),
    });
    const test = await kernelOf({ files: { ...CMD, ...twin('one'), ...twin('two') }, commands: kernelCommands });
    const { notes } = await test.kernel.doctor();
    const said = notes.filter(({ code }) => code === 'name_clash').map(({ message }) => message);
    expect(said).toContainEqual(expect.stringContaining("the command 'skills list' of 'cmd' is reached as 'pith cmd:skills list'"));
    expect(said).toContainEqual(expect.stringContaining("the command 'both' of 'one' is reached as 'pith one:both'"));
    expect(test.kernel.host.providers.commands.declared().map((each) => each.path)).toEqual(
      expect.arrayContaining(['one:both', 'two:both', 'mine']),
    );
    const paths = (await test.kernel.host.providers.commands.of('cmd')).map((each) => each.path);
    expect(paths).toEqual(['cmd:skills list', 'cmd:skills', 'cmd:mcp list', 'cmd:doctor deep', 'cmd:chat', 'mine', 'deploy']);
  });

  it('T15 F18: shipped tools keep their names, a stranger of the same name has its id in front, and doctor says so', async () => {
    const files = {
      ...manifest('cmd', { provides: ['tool'] }),
      ...tools('cmd', ['file', 'read_skill', 'skill', 'alone'].map(tool).join()),
      ...manifest('other', { provides: ['tool'] }),
      ...tools('other', ['both', 'file'].map(tool).join()),
      ...manifest('third', { provides: ['tool'] }),
      ...tools('third', tool('both')),
      'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [cmd, core_tools, skill_registry, other/file, other, third] }\n',
      'agents/without/manifest.yaml': 'id: without\nagent: { uses_tools: [cmd/alone, cmd/file] }\n',
    };
    const { kernel } = await kernelOf({ files });
    const nameOf = async (agent: string) => {
      const all = await kernel.agents.toolsOf(agent);
      return Object.fromEntries(all.map(({ modelName, extensionId, descriptor }) => [`${extensionId}/${descriptor.name}`, modelName]));
    };
    expect(await nameOf('asker')).toMatchObject({
      'core_tools/file': 'file',
      'cmd/file': 'cmd__file',
      'other/file': 'other__file',
      'skill_registry/read_skill': 'read_skill',
      'cmd/read_skill': 'cmd__read_skill',
      'cmd/skill': 'cmd__skill', // one that ships and may come during the turn
      'cmd/alone': 'alone',
      'other/both': 'other__both',
      'third/both': 'third__both',
    });
    expect(await nameOf('without')).toEqual({ 'cmd/alone': 'alone', 'cmd/file': 'file' });
    expect(await kernel.agents.callTool('asker', 'cmd/file', {})).toMatchObject({ ok: true, output: 'file' });
    const { notes } = await kernel.doctor();
    const said = notes.map(({ message }) => message);
    expect(said).toContainEqual(expect.stringContaining("sees cmd__file and file of 'core_tools' and other__file"));
    expect(said).toContainEqual(expect.stringContaining('sees other__both and third__both'));
  });
});
