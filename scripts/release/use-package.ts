// Uses an installed package as a person and their programs do: each function returns what it saw, or throws what is wrong.
import { readdirSync, readFileSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { EmptyProject } from './empty-project.ts';
import { countOf, failed } from './report.ts';

interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, { readonly types?: string }>>;
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

/** Pith within a program: the example of a worker thread, as it is copied. */
export async function embed({ node, folder }: EmptyProject, program: string, { root, isOffline }: EmbedOptions): Promise<string> {
  const example = path.join(root, 'examples/worker');
  for (const name of ['main.js', 'worker.js', 'skills']) await cp(path.join(example, name), path.join(folder, name), { recursive: true });
  const input = await readFile(path.join(example, 'jobs.jsonl'), 'utf8');
  const printed = await node(['main.js'], { node: program, input, isOffline });
  const done = printed.split('\n').filter((line) => line.includes('"status":"done"')).length;
  if (done !== 2 || !printed.includes('"Goods "')) throw failed(`the jobs are not done:\n${printed}`, 'see examples/worker');
  return `${done} jobs in a worker thread`;
}

interface EmbedOptions {
  /** Pith's repository, which has the example. */
  readonly root: string;
  readonly isOffline: boolean;
}

/** `pith init`, the steps that it prints, to the test that it made, and what the doctor says of it, with the Pith that is installed there. */
export async function makeProject({ folder, node, npm, installed }: EmptyProject, program: string, at: string): Promise<string> {
  const place = path.join(folder, at);
  const printed = await node([pith(installed), 'init', at], { node: program });
  const steps = [...printed.matchAll(/^ {2}npm (.+?)(?: {2,}|$)/gmu)].map(([, argv = '']) => argv.replaceAll('"', ''));
  if (steps.at(-1) !== 'test') throw failed(`it does not say how its test is run:\n${printed}`, 'see core/cli/commands/new-project.ts');
  for (const step of steps) {
    const argv = step.startsWith('pkg set ') ? step.match(/^(pkg) (set) (.+)$/u)!.slice(1) : step.split(' ');
    await npm(...argv, '--prefix', place);
  }
  await node([pith(path.join(place, 'node_modules/pith')), 'doctor', '--sandbox', path.join(place, 'sandbox')], { node: program });
  return 'its test passes, and the doctor finds nothing';
}

export async function importEntries({ node, installed, write }: EmptyProject, program: string): Promise<string> {
  const entries = entriesOf(installed);
  if (entries.length === 0) return '';
  const lines = entries.map((entry) => `console.log(Object.keys(await import('${entry}')).length > 0 ? '' : 'nothing in ${entry}');`);
  await write('entries.mjs', lines.join('\n'));
  const empty = (await node(['entries.mjs'], { node: program })).trim();
  if (empty !== '') throw failed(empty, "see 'exports' in package.json");
  return entries.join(', ');
}

/** Each entry has types, and all of them compile, in a project that checks libraries too. */
export async function compileTypes(
  { node, folder, installed, write }: Pick<EmptyProject, 'node' | 'folder' | 'installed' | 'write'>,
  moduleResolution: 'node16' | 'bundler',
): Promise<string> {
  const entries = [...entriesOf(installed), ...contractsOf(installed)];
  const lines = entries.flatMap((entry, index) => [
    `import type * as entry${index} from '${entry}';`,
    '// @ts-expect-error: an entry without types could be anything',
    `export const nothing${index}: null = {} as typeof entry${index};`,
  ]);
  await write('types.ts', `${lines.join('\n')}\n${EMBEDDED}`);
  const module = moduleResolution === 'node16' ? 'node16' : 'esnext';
  const compilerOptions = { module, moduleResolution, target: 'es2022', strict: true, noEmit: true, skipLibCheck: false };
  await write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['types.ts'] }));
  const printed = await node([path.join(folder, 'node_modules/typescript-7/bin/tsc'), '-p', 'tsconfig.json']);
  if (printed !== '') throw failed(printed, 'see the declarations that it names');
  return countOf(entries.length, 'entries');
}

/** What a program's author writes, with the type that a schema gives. */
const EMBEDDED = `import { z } from 'pith';
import { createPith } from 'pith/embed';
const pith = await createPith({ skills: ['skills'], model: 'offline/librarian' });
const answer = await pith.run('Where?', { output: z.object({ city: z.string() }) }).result;
// @ts-expect-error: only where it is done
export const early: string = answer.output.city;
if (answer.status !== 'done') throw new Error(answer.status);
export const city: string = answer.output.city;
// @ts-expect-error: not in the schema
export const country: string = answer.output.country;
`;

const pith = (installed: string): string => path.join(installed, 'bin/pith');

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** What programs import: `pith`, `pith/testing`. */
function entriesOf(installed: string): readonly string[] {
  return Object.entries(manifestIn(installed).exports).flatMap(([key, { types }]) =>
    types === undefined || key.includes('*') ? [] : [path.posix.join('pith', key)],
  );
}

/** Those of extensions, of which programs import types: `pith/skill_registry`. */
function contractsOf(installed: string): readonly string[] {
  return readdirSync(path.join(installed, 'dist/contracts')).map((file) => `pith/${path.basename(file, '.d.ts')}`);
}
