import { existsSync, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { expect, it } from 'vitest';
import { projectFolder, runPith } from './pith-process.ts';

const DIST = path.resolve('dist');
const { codeCacheFile } = createRequire(import.meta.url)(path.resolve('bin/code-cache.js')) as {
  codeCacheFile(dist: string, name: string): string;
};

/** What the program has loaded when it ends. */
const TELL = `process.on('exit', () => require('node:fs').writeFileSync(__dirname + '/loaded.json', JSON.stringify({
  files: Object.keys(require('node:module')._cache),
  parts: process.moduleLoadList.filter((part) => part.startsWith('NativeModule ')).map((part) => part.slice(13)),
})));`;

const KILOBYTES = 1450;

it.skipIf(!existsSync(path.join(DIST, 'main.cjs')))(
  'a chat of one message, with two calls of tools, loads no package but zod, few parts of Node, and only code that the build has kept',
  async () => {
    const folder = await projectFolder();
    const preload = path.join(folder.path, 'tell.cjs');
    await writeFile(preload, TELL);
    const chat = (NODE_OPTIONS?: string) =>
      runPith(['chat', '--agent', 'orchestrator', '-p', 'review my extension for best practices'], {
        cwd: folder.path,
        env: { PITH_SANDBOX: folder.sandbox, PITH_LOG: 'silent', ...(NODE_OPTIONS === undefined ? {} : { NODE_OPTIONS }) },
      });
    await chat();
    expect(await chat(`--require "${preload}"`)).toMatchObject({ code: 0, out: expect.stringContaining('From the skill `code-review`') });
    const { files, parts } = JSON.parse(readFileSync(path.join(folder.path, 'loaded.json'), 'utf8')) as Record<'files' | 'parts', string[]>;

    const own = files.filter((file) => file.startsWith(DIST + path.sep)).map((file) => path.relative(DIST, file));
    expect(own).toContain('main.cjs');
    expect(own.filter((file) => file.startsWith('packages'))).toEqual(['packages/zod.cjs']); // checks the settings of extensions
    expect(own.filter((file) => path.basename(file).startsWith('rest-'))).toEqual([]);
    const packages = files.filter((file) => file.includes(`${path.sep}node_modules${path.sep}`));
    expect(packages.filter((file) => !file.endsWith('.node'))).toEqual([]); // SQLite's binding, without what looks for it
    const dear = ['child_process', 'http', 'https', 'tls', 'readline', 'worker_threads', 'inspector'];
    expect(parts.filter((part) => dear.includes(part))).toEqual([]);

    const bytes = own.reduce((sum, file) => sum + statSync(path.join(DIST, file)).size, 0);
    expect(bytes).toBeLessThan(KILOBYTES * 1000);
    const { rows } = JSON.parse(readFileSync(`${codeCacheFile(DIST, 'chat')}.json`, 'utf8')) as { rows: { file: string }[] };
    const kept = rows.map(({ file }) => file);
    expect(own.filter((file) => !kept.includes(file))).toEqual([]);
    await folder.remove();
  },
);
