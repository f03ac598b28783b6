// Before a release: packs the package, installs it in empty projects outside of the repository, and uses it there. PITH_NODE_24 may name
// a program of Node 24 to use it with too. With --licences it prints those of all packages that come with it.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { formatMessage } from 'publint/utils';
import { publint } from 'publint';
import { canTakeNetwork, type EmptyProject, emptyProject } from './release/empty-project.ts';
import { bundledPackages, bytesIn, installedPackages, isAllowed } from './release/installed-packages.ts';
import { countOf, failed, Report, within } from './release/report.ts';
import { currentSurface, fileOfList, LISTS, readList, releaseOf } from './release/surface.ts';
import { listProblems } from './release/surface-list.ts';
import { chat, compileTypes, embed, importEntries, makeProject, printVersion } from './release/use-package.ts';

/** In MB. */
const MOST = { packed: 8, unpacked: 18, installed: 140 };

const root = process.env['PITH_REPOSITORY'] ?? process.cwd();
const { values } = parseArgs({ options: { licences: { type: 'boolean' } } });
const report = new Report();
const place = await mkdtemp(path.join(os.tmpdir(), 'pith-packed-'));
try {
  const packed = await pack();
  for (const list of LISTS) await report.check(`the list of ${list}`, () => checkList(list));
  await report.check('exports', checkExports);
  await report.check(
    'size of the package',
    async () => `${within(packed.size, MOST.packed)} packed, ${within(packed.unpackedSize, MOST.unpacked)} unpacked`,
  );
  await tryPackage(packed.file);
} finally {
  await rm(place, { recursive: true, force: true });
}
if (!report.end()) process.exitCode = 1;

async function pack(): Promise<{ readonly file: string; readonly size: number; readonly unpackedSize: number }> {
  const argv = ['pack', '--json', '--offline', '--ignore-scripts', '--pack-destination', place];
  const { stdout } = await promisify(execFile)('npm', argv, { cwd: root, maxBuffer: 1 << 24 });
  const [{ filename, size, unpackedSize }] = JSON.parse(stdout) as [{ filename: string; size: number; unpackedSize: number }];
  return { file: path.join(place, filename), size, unpackedSize };
}

async function tryPackage(file: string): Promise<void> {
  const isOffline = await canTakeNetwork();
  await using project = await emptyProject();
  if (!(await report.check('npm install', () => install(project, 'install', file, '--prefer-offline')))) return;
  const modules = path.join(project.folder, 'node_modules');
  await report.check('size of the installation', async () => within(bytesIn(modules), MOST.installed));
  await report.check('licences', async () => checkLicences(modules));
  for (const moduleResolution of ['node16', 'bundler'] as const)
    await report.check(`types, moduleResolution ${moduleResolution}`, () => compileTypes(project, moduleResolution));

  for (const [name, node] of programsOfNode()) {
    await report.check(`pith --version, ${name}`, () => printVersion(project, node));
    await report.check(`imports, ${name}`, () => importEntries(project, node));
    await report.check(`a chat, ${name}`, () => chat(project, node, isOffline));
    await report.check(`a program, ${name}`, () => embed(project, node, { root, isOffline }));
  }
  if (process.env['PITH_NODE_24'] === undefined) report.skip('Node 24', 'set PITH_NODE_24 to its program');
  await report.check('pith init', () => makeProject(project, process.execPath, '.'));
  await report.check('pith init, another folder', () => makeProject(project, process.execPath, '../other'));

  await using bare = await emptyProject();
  const argv = ['install', file, '--offline', '--ignore-scripts'];
  if (!(await report.check('npm install --offline --ignore-scripts', () => install(bare, ...argv)))) return;
  for (const [name, node] of programsOfNode()) {
    await report.check(`a chat, installed without scripts, ${name}`, () => chat(bare, node, isOffline));
    await report.check(`a program, installed without scripts, ${name}`, () => embed(bare, node, { root, isOffline }));
  }
}

async function install(project: EmptyProject, ...argv: readonly string[]): Promise<string> {
  await project.npm(...argv);
  return countOf(installedPackages(path.join(project.folder, 'node_modules')).length, 'packages');
}

function programsOfNode(): readonly (readonly [string, string])[] {
  const other = process.env['PITH_NODE_24'];
  const running = [`Node ${process.versions.node}`, process.execPath] as const;
  return other === undefined ? [running] : [running, ['Node of PITH_NODE_24', other]];
}

async function checkList(name: (typeof LISTS)[number]): Promise<string> {
  const list = readList(root, name);
  const problems = listProblems(list, await currentSurface(root, name), releaseOf(root, list.released));
  if (problems.length > 0) throw new Error(`${fileOfList(name)}: ${problems.join('\n  ')}`);
  return countOf(list.lines.length, 'lines');
}

async function checkExports(): Promise<string> {
  const { messages, pkg } = await publint({ pkgDir: root, pack: 'npm', strict: true });
  if (messages.length > 0)
    throw failed(messages.map((message) => formatMessage(message, pkg)).join('\n  '), "see 'exports' in package.json");
  return Object.keys((pkg as { readonly exports?: object }).exports ?? {}).join(', ');
}

function checkLicences(modules: string): string {
  const { build } = JSON.parse(readFileSync(path.join(modules, 'pith/dist/build.json'), 'utf8')) as { build: string };
  const bundled = bundledPackages(readFileSync(path.join(modules, 'pith/dist', build, 'licences.txt'), 'utf8'));
  const packages = [...new Map([...bundled, ...installedPackages(modules)].map((each) => [`${each.name} ${each.version}`, each])).values()];
  if (values.licences) for (const { name, version, license } of packages) process.stdout.write(`| ${name} | ${version} | ${license} |\n`);
  const refused = packages.filter(({ license }) => !isAllowed(license));
  if (refused.length === 0) return countOf(packages.length, 'packages');
  const names = refused.map(({ name, license }) => `${name} (${license || 'without a licence'})`).join(', ');
  throw failed(`not on the list of allowed ones: ${names}`, 'use another package, or decide that the licence is allowed');
}
