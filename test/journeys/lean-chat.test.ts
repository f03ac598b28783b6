import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { projectFolder, runPith } from './pith-process.ts';

/** What the program has loaded by require when it ends. */
const TELL = `process.on('exit', () => require('node:fs').writeFileSync(__dirname + '/loaded.json', JSON.stringify({
  files: Object.keys(require('node:module')._cache),
})));`;

async function loadedBy(...argv: readonly string[]): Promise<{ readonly files: readonly string[] }> {
  const folder = await projectFolder();
  const preload = path.join(folder.path, 'tell.cjs');
  await writeFile(preload, TELL);
  const env = { PITH_SANDBOX: folder.sandbox, PITH_LOG: 'silent', NODE_OPTIONS: `--require "${preload}"` };
  expect(await runPith(argv, { cwd: folder.path, env })).toMatchObject({ code: 0 });
  const loaded = JSON.parse(await readFile(path.join(folder.path, 'loaded.json'), 'utf8')) as { files: string[] };
  await folder.remove();
  return { ...loaded, files: loaded.files.filter((file) => file !== preload) };
}

it('--version loads nothing but the file that answers it', async () => {
  expect((await loadedBy('--version')).files).toEqual([path.resolve('bin/pith')]);
});

it('a chat loads neither a compiler nor a bundler', async () => {
  const { files } = await loadedBy('chat', '--agent', 'orchestrator', '-p', 'review my extension for best practices');
  expect(files.filter((file) => /[\\/]node_modules[\\/](?:typescript|esbuild)[\\/]/.test(file))).toEqual([]);
});

it('K3 the first message in a new project starts no process to know the tools of an extension', async () => {
  const folder = await projectFolder();
  expect(
    await runPith(['chat', '-a', 'orchestrator', '-p', 'hello'], { cwd: folder.path, env: { PITH_SANDBOX: folder.sandbox } }),
  ).toMatchObject({ code: 0 });
  const started = await readdir(path.join(folder.sandbox, 'data/extensions')); // each has a folder from its start on
  expect(started).toContain('skill_registry');
  expect(started).not.toContain('web');
  await folder.remove();
});
