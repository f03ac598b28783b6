import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { folderWith } from '../../places.ts';
import { PATCH_CASES, type PatchCase } from './patch-cases.ts';
import { workbench } from './workbench.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';

it('E3 reads patches as they come', async () => {
  const bench = await workbench();
  for (const { what, files, patch, after } of PATCH_CASES) {
    for (const name of readdirSync(bench.sandbox)) rmSync(path.join(bench.sandbox, name), { recursive: true });
    put(bench.sandbox, files);
    const result = await bench.patch(patch);
    const wanted = typeof after === 'string' ? { said: after, tree: files } : { said: 'ok', tree: after };
    const said = result.ok ? 'ok' : result.error.code;
    expect.soft({ said, tree: treeOf(bench.sandbox) }, `${what}: ${JSON.stringify(result)}`).toEqual(wanted);
  }
});

it.runIf(isLong)('E3 the table of patches says what git does', () => {
  const asGit = PATCH_CASES.filter(({ notAsGit }) => notAsGit === undefined);
  for (const each of asGit) expect.soft(byGit(each), each.what).toEqual(typeof each.after === 'string' ? 'refused' : each.after);
});

function byGit({ files, patch }: PatchCase) {
  const folder = folderWith();
  put(folder, files);
  try {
    execFileSync('git', ['apply', '-'], {
      cwd: folder,
      input: patch,
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, GIT_CEILING_DIRECTORIES: path.dirname(folder) },
    });
    return treeOf(folder);
  } catch {
    return 'refused';
  }
}

function put(folder: string, files: PatchCase['files']): void {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name.replace(/\*$/u, ''));
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    if (name.endsWith('*')) chmodSync(file, 0o755);
  }
}

/** Without the state of Pith, which logs there. */
function treeOf(folder: string): Record<string, string> {
  const all = readdirSync(folder, { recursive: true, withFileTypes: true });
  const found = all.filter((entry) => entry.isFile() && !`${entry.parentPath}/`.startsWith(`${folder}/data/`));
  return Object.fromEntries(
    found.map((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      return [`${path.relative(folder, file)}${statSync(file).mode & 0o100 ? '*' : ''}`, readFileSync(file, 'utf8')];
    }),
  );
}
