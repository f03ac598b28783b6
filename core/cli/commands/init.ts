import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { codeOf, type CommandInput, type CommandIO, messageOf, PithError } from '../../contract/index.ts';
import { makeFolders } from '@pith/safe-files';
import { openTrustFile, trustSandbox, userHome } from '../../trust/index.ts';
import { packageRoot } from '../../kernel/index.ts';
import { newProject } from './new-project.ts';
import { NEW_SANDBOX } from './new-sandbox.ts';
import { colours } from './text.ts';

/** Makes `DIR/sandbox` (or DIR itself, when that is its name) and what npm and editors need beside it. Refuses, before writing anything, when a file is in the way. */
export async function initSandbox(cwd: string, input: CommandInput, io: CommandIO): Promise<void> {
  const asked = resolve(cwd, String(input.arguments['dir'] ?? '.'));
  const sandbox = basename(asked) === 'sandbox' ? asked : join(asked, 'sandbox');
  refuseFile(asked, sandbox);
  refuseOthers(sandbox);
  const files = new Map([...NEW_SANDBOX, ...(await sampleSettings())]);
  const folder = dirname(sandbox);
  const project = newProject(folder);
  try {
    for (const [path, text] of files) await write(join(sandbox, path), text);
    for (const [path, text] of project.files) await write(join(folder, path), text);
  } catch (error) {
    const message = `no sandbox was made in ${asked}: ${messageOf(error)}`;
    throw new PithError('not_allowed', message, { cause: error, cure: 'name a folder that you may write: pith init <dir>' });
  }

  const problem = recordTrust(sandbox);

  io.json({ ok: true, sandbox, files: [...files.keys()].sort(), project: [...project.files.keys()].sort() });
  const colour = colours(io);
  const shown = relative(cwd, sandbox) || '.';
  io.print(`${colour.green('✓')} Made a sandbox in ${colour.bold(shown)}`);
  if (problem !== null) io.error(`pith: it is not recorded that you trust ${sandbox}: ${problem}`);
  if (io.quiet) return;
  for (const path of [...files.keys()].sort()) io.print(colour.dim(`  ${path}`));
  for (const path of [...project.files.keys()].sort()) io.print(colour.dim(`  ${join('..', path)}`));
  const way = relative(cwd, folder);
  const steps: readonly (readonly [string, string])[] = [
    ...(way === '' ? [] : [[`cd ${way}`, ''] as const]),
    ...(project.install === null ? [] : [[project.install, 'once: it makes `npx pith` work here'] as const]),
    [`${project.command} chat`, 'talk to the assistant'],
    [`${project.command} doctor`, 'see what loaded'],
    [join('sandbox', 'pith.yaml'), 'connect a model, change settings'],
  ];
  const width = Math.max(...steps.map(([step]) => step.length));
  io.print(['', 'Next:', ...steps.map(([step, why]) => `  ${step.padEnd(width)}  ${why}`.trimEnd())].join('\n'));
}

/** What a person makes is theirs. Returns why that could not be recorded; then they are asked. */
function recordTrust(sandbox: string): string | null {
  try {
    trustSandbox(openTrustFile(userHome()), sandbox);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** What lies there already was put there by somebody, and would be trusted unseen; a link would lead what is written elsewhere. */
function refuseOthers(sandbox: string): void {
  const found = lstatSync(sandbox, { throwIfNoEntry: false });
  const why =
    found === undefined
      ? null
      : !found.isDirectory()
        ? `${sandbox} is no folder`
        : readdirSync(sandbox).length > 0
          ? `${sandbox} is not empty`
          : null;
  if (why !== null)
    throw new PithError('usage', `no sandbox was made: ${why}`, {
      cure: 'name another folder: pith init <dir>, or look at what is there with: pith trust',
    });
}

/** A file where a folder would have to be, anywhere on the way. */
function refuseFile(asked: string, sandbox: string): void {
  for (let path = sandbox; path !== dirname(path); path = dirname(path)) {
    const found = existsSync(path) ? statSync(path) : null;
    if (found?.isDirectory()) return;
    if (found) throw new PithError('usage', `no sandbox was made in ${asked}: ${path} is a file`, { cure: 'name a folder' });
  }
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
  makeFolders(dirname(file));
  await writeFile(file, text, { flag: 'wx' });
}
