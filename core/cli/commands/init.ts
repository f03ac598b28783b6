import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { codeOf, PithError } from '../../contract/errors.ts';
import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import { packageRoot } from '../../host/package-version.ts';
import { NEW_SANDBOX } from './new-sandbox.ts';
import { colours } from './text.ts';

/** Makes `DIR/sandbox` (or DIR itself, when that is its name). Refuses, before writing anything, when a file is in the way. */
export async function initSandbox(cwd: string, input: CommandInput, io: CommandIO): Promise<void> {
  const asked = resolve(cwd, String(input.arguments['dir'] ?? '.'));
  const sandbox = basename(asked) === 'sandbox' ? asked : join(asked, 'sandbox');
  const files = new Map([...NEW_SANDBOX, ...(await sampleSettings())]);
  const inTheWay = [...files.keys()].filter((path) => existsSync(join(sandbox, path)));
  if (inTheWay.length > 0) {
    throw new PithError(
      'usage',
      `no sandbox was made in ${sandbox}: ${inTheWay.slice(0, 3).join(', ')} ${inTheWay.length === 1 ? 'exists' : 'exist'} already`,
      { cure: 'name another folder: pith init <dir>' },
    );
  }
  for (const [path, text] of files) await write(join(sandbox, path), text);

  io.json({ ok: true, sandbox, files: [...files.keys()].sort() });
  const colour = colours(io);
  const shown = relative(cwd, sandbox) || '.';
  io.print(`${colour.green('✓')} Made a sandbox in ${colour.bold(shown)}`);
  if (io.quiet) return;
  for (const path of [...files.keys()].sort()) io.print(colour.dim(`  ${path}`));
  const folder = relative(cwd, dirname(sandbox));
  io.print(
    [
      '',
      'Next:',
      ...(folder === '' ? [] : [`  cd ${folder}`]),
      '  pith chat                         talk to the assistant',
      '  pith doctor                       see what loaded',
      `  ${join('sandbox', 'pith.yaml').padEnd(32)}  connect a model, change settings`,
    ].join('\n'),
  );
}

/** The sample that lists every setting, where the package has one. */
async function sampleSettings(): Promise<readonly (readonly [string, string])[]> {
  try {
    return [['pith.sample.yaml', await readFile(join(packageRoot(), 'sandbox', 'pith.sample.yaml'), 'utf8')]];
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT') return [];
    throw error;
  }
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text, { flag: 'wx' });
}
