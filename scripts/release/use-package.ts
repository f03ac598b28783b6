// Uses an installed package as a person and their programs do: each function returns what it saw, or throws what is wrong.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { EmptyProject } from './empty-project.ts';
import { failed } from './report.ts';

interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, { readonly types?: string }>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

export async function printVersion({ node, installed }: EmptyProject, program: string): Promise<string> {
  const printed = (await node([pith(installed), '--version'], { node: program })).trim();
  const { version } = manifestIn(installed);
  if (printed !== version) throw failed(`it printed '${printed}' and is ${version}`, 'see bin/pith');
  return printed;
}

/** The offline librarian answers, where possible on a machine without a network. */
export async function chat({ node, installed }: EmptyProject, program: string, isOffline: boolean): Promise<string> {
  const input = 'review my extension for best practices\n';
  const printed = await node([pith(installed), 'chat', '--lines'], { node: program, input, isOffline });
  if (!printed.includes('From the skill `code-review`'))
    throw failed(`the answer does not quote the skill:\n${printed}`, 'see sandbox/skills');
  return isOffline ? 'without a network' : 'no network was asked for, but there was one';
}

/** `pith init`, what it makes to be tested, and what the doctor says of it. */
export async function makeProject(project: EmptyProject, program: string): Promise<string> {
  const { node, installed, folder } = project;
  await node([pith(installed), 'init', '.'], { node: program });
  const hasTest = manifestIn(folder).scripts?.['test'] !== undefined;
  if (hasTest) await project.npm('test');
  await node([pith(installed), 'doctor'], { node: program });
  return hasTest ? 'its test passes, and the doctor finds nothing' : 'the doctor finds nothing';
}

export async function importEntries({ node, installed, write }: EmptyProject, program: string): Promise<string> {
  const entries = entriesOf(installed);
  const lines = entries.map((entry) => `console.log(Object.keys(await import('${entry}')).length > 0 ? '' : 'nothing in ${entry}');`);
  await write('entries.mjs', lines.join('\n'));
  const empty = (await node(['entries.mjs'], { node: program })).trim();
  if (empty !== '') throw failed(empty, "see 'exports' in package.json");
  return entries.join(', ');
}

/** Each entry has types, and all of them compile, in a project that checks libraries too. Returns what the compiler prints: nothing. */
export async function compileTypes(
  { node, folder, installed, write }: Pick<EmptyProject, 'node' | 'folder' | 'installed' | 'write'>,
  moduleResolution: 'node16' | 'bundler',
): Promise<string> {
  const lines = entriesOf(installed).flatMap((entry, index) => [
    `import * as entry${index} from '${entry}';`,
    '// @ts-expect-error: an entry without types could be anything',
    `export const nothing${index}: null = entry${index};`,
  ]);
  await write('types.ts', `${lines.join('\n')}\n`);
  const module = moduleResolution === 'node16' ? 'node16' : 'esnext';
  const compilerOptions = { module, moduleResolution, target: 'es2022', strict: true, noEmit: true, skipLibCheck: false };
  await write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['types.ts'] }));
  return node([path.join(folder, 'node_modules/typescript-7/bin/tsc'), '-p', 'tsconfig.json']);
}

const pith = (installed: string): string => path.join(installed, 'bin/pith');

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** What programs import: `pith`, `pith/testing`. */
function entriesOf(installed: string): readonly string[] {
  return Object.entries(manifestIn(installed).exports).flatMap(([key, { types }]) =>
    types === undefined ? [] : [path.posix.join('pith', key)],
  );
}
