// Builds dist/: a folder for each build, named for what it was made of, and a few files that lead to the newest. A build appears whole,
// and those before it stay as long as a process may run from them. Where nothing has changed, nothing is written.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const require = createRequire(import.meta.url);
const { digestOf, isAlive, isUsed, sourcesOf } = require('./checkout.cjs');
refuseMissing();
const { build } = await import('esbuild');
const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const dist = path.join(root, 'dist');

/** What has the same name in each build. */
const FIXED = [
  'contract.js',
  'testing.js',
  'embed.js',
  'contract.d.ts',
  'testing.d.ts',
  'embed.d.ts',
  'packages',
  'contracts',
  'build.json',
];

/** A process of another user cannot register itself at a build. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** For tests: what they run of dist/ is what the sources are. */
export async function setup() {
  await updateBuild();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await updateBuild();

/** In a new clone nothing is installed. */
function refuseMissing() {
  try {
    for (const name of ['esbuild', 'typescript-7']) require.resolve(`${name}/package.json`);
  } catch (error) {
    process.stderr.write(`pith: dist/ cannot be built: ${error.message.split('\n')[0]}; run: npm ci\n`);
    process.exit(1);
  }
}

async function updateBuild() {
  const started = performance.now();
  const digest = digestOf(root);
  const newest = await readNewest();
  const isThere = await isWhole(path.join(dist, digest));
  if (!isThere) {
    const why = newest.build === undefined ? 'for the first time' : 'since its sources have changed';
    process.stdout.write(`pith: building dist/ ${why}; this takes up to a minute, longer on a busy machine\n`);
    if (!(await makeBuild(digest))) return updateBuild();
  }
  const record = { build: digest, ...sourcesOf(root, path.join(dist, digest)) };
  if (digestOf(root) !== digest) return updateBuild(); // they changed meanwhile
  if (isThere && newest.build === digest) {
    if (newest.stamps !== record.stamps) await lead(record).catch(unlessForeign);
    return;
  }
  if (newest.build !== undefined) await touch(path.join(dist, newest.build));
  await lead(record);
  await removeOld(digest);
  process.stdout.write(`pith: built dist/ in ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
}

/** A damaged build is made again in its place. */
async function isWhole(folder) {
  if (!existsSync(folder)) return false;
  try {
    for (const file of ['index.json', 'surfaces.json']) JSON.parse(await readFile(path.join(folder, 'ext', file), 'utf8'));
    return existsSync(path.join(folder, 'main.mjs'));
  } catch {
    // damaged
    await rm(folder, { recursive: true, force: true });
    return false;
  }
}

async function readNewest() {
  const file = path.join(dist, 'build.json');
  return existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : {};
}

/** False: the sources have changed meanwhile, so that what was made is neither of both. */
async function makeBuild(digest) {
  const aside = path.join(dist, `.building-${process.pid}`);
  await rm(aside, { recursive: true, force: true });
  await mkdir(aside, { recursive: true });
  await Promise.all([
    Promise.all([bundleAll(aside), bundlePage(path.join(aside, 'page'))]).then(() =>
      Promise.all([describeProcesses(aside), writeLicences(aside)]),
    ),
    emitDeclarations(aside),
  ]);
  const isSame = digestOf(root) === digest;
  if (isSame) await rename(aside, path.join(dist, digest)).catch(unlessThere);
  await rm(aside, { recursive: true, force: true });
  return isSame;
}

/** Another build of the same sources was faster. */
function unlessThere(error) {
  if (!['ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error;
}

/** Nothing has to be written for a user who may not: only times differ. */
function unlessForeign(error) {
  if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code)) throw error;
}

/** What runs and what is imported, and all extensions that ship, by the code that finds them later: digests agree. */
async function bundleAll(folder) {
  const outfile = path.join(folder, 'build-graph.js');
  await build({
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    outfile,
    entryPoints: ['core/loader/build-graph.ts'],
    logLevel: 'warning',
  });
  const { buildGraph } = await import(pathToFileURL(outfile).href);
  await rm(outfile);
  const entries = {
    main: 'core/main.ts',
    process: 'core/compose/extension-process.ts',
    // What programs and tests import as `pith`, `pith/testing` and `pith/embed`, and what extensions import as `@pith/…`.
    'library/contract': 'core/contract/index.ts',
    'library/testing': 'core/testing/index.ts',
    'library/embed': 'core/embed/index.ts',
    ...Object.fromEntries((await packages()).map((name) => [`library/packages/${name}`, `packages/${name}/index.ts`])),
  };
  await buildGraph({ packageRoot: root, folder, entries, ships: await trackedExtensions() });
  const cases = 'packages/skill-conformance/cases'; // what a package reads when it runs
  await cp(path.join(root, cases), path.join(folder, cases), { recursive: true });
}

/** The page, for browsers. What is rarely looked at is a file of its own, which the page loads when it is opened. */
async function bundlePage(folder) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [
      { in: 'sandbox/extensions/web_channel/page/main.tsx', out: 'page' },
      { in: 'sandbox/extensions/web_channel/page/icon.svg', out: 'icon' },
    ],
    loader: { '.svg': 'copy' },
    outdir: folder,
    bundle: true,
    format: 'esm',
    splitting: true,
    minify: true,
    sourcemap: true,
    target: ['es2022'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    metafile: true,
    logLevel: 'warning',
  });
  const outputs = Object.entries(metafile.outputs).filter(([file]) => !file.endsWith('.map'));
  const nameOf = (file) => path.basename(file);
  const [icon] = outputs.find(([file]) => file.endsWith('.svg'));
  const [script, { cssBundle }] = outputs.find(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx'));
  const built = {
    script: nameOf(script),
    style: nameOf(cssBundle),
    icon: nameOf(icon),
    files: outputs.map(([file]) => nameOf(file)).toSorted(),
  };
  await writeFile(path.join(folder, 'files.json'), `${JSON.stringify(built)}\n`);
}

/** Of the packages whose code is in the bundles: `NAME VERSION: LICENCE` and its text, for each. Theirs are not installed beside Pith. */
async function writeLicences(folder) {
  const texts = new Map();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith('.map')) continue;
    const { sources } = JSON.parse(await readFile(path.join(entry.parentPath, entry.name), 'utf8'));
    for (const source of sources) {
      const [place] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path.resolve(entry.parentPath, source)) ?? [];
      // The map of a package may name what that was made of itself, which is not there.
      if (place === undefined || texts.has(place) || !existsSync(path.join(place, 'package.json'))) continue;
      const { name, version, license } = JSON.parse(await readFile(path.join(place, 'package.json'), 'utf8'));
      const file = (await readdir(place)).find((each) => /^licen[cs]e/i.test(each));
      const text = file === undefined ? '' : await readFile(path.join(place, file), 'utf8');
      texts.set(place, `${name} ${version}: ${license}\n\n${text.trim()}\n`);
    }
  }
  await writeFile(path.join(folder, 'licences.txt'), [...texts.values()].toSorted().join(`\n${'-'.repeat(80)}\n\n`));
}

/**
 * Keeps what those extensions offer that run in a process of their own, as the doctor finds it in a new project: there they see nothing
 * of a project but its settings, and the first message in it starts none of them to know their tools.
 */
async function describeProcesses(folder) {
  const file = path.join(folder, 'ext/surfaces.json');
  const project = await mkdtemp(path.join(os.tmpdir(), 'pith-build-'));
  try {
    const sandbox = path.join(project, 'sandbox');
    await mkdir(sandbox);
    const main = JSON.stringify(pathToFileURL(path.join(folder, 'main.mjs')).href);
    const argv = ['-e', `import(${main}).then(({ main }) => main())`, 'pith', 'doctor', '--trust', '--sandbox', sandbox];
    const env = { PATH: process.env.PATH, HOME: project, PITH_MODEL: 'offline/librarian' };
    await promisify(execFile)(process.execPath, argv, { cwd: project, env, timeout: 300_000 }).catch(() => undefined); // it fails where anything is wrong
    const { version, content } = JSON.parse(await readFile(path.join(sandbox, 'data/.cache/index.json'), 'utf8'));
    const manifests = Object.values(content.folders).map(({ declaration }) => declaration.manifest);
    const apart = new Set(
      manifests.flatMap((manifest) => (manifest?.isolation === 'process' && manifest.provides.length > 0 ? [manifest.id] : [])),
    );
    const surfaces = Object.fromEntries(Object.entries(content.surfaces).filter(([id]) => apart.has(id)));
    const missing = [...apart].filter((id) => !Object.hasOwn(surfaces, id));
    if (missing.length > 0) throw new Error(`${missing.join(', ')} did not say`);
    await writeFile(file, `${JSON.stringify({ format: Number.parseInt(version, 10), surfaces })}\n`);
  } catch (error) {
    await writeFile(file, '{}');
    process.stdout.write(
      `pith: what the extensions offer could not be kept: ${error.message}; the first message in a new project takes longer\n`,
    );
  } finally {
    await rm(project, { recursive: true, force: true });
    await rm(path.join(folder, 'users'), { recursive: true, force: true });
  }
}

/** The names of the workspace packages. */
function packages() {
  return readdir(path.join(root, 'packages'));
}

/** The ids of extensions that ship with a contract. */
async function contracts() {
  const ships = await trackedExtensions();
  const ids = await readdir(path.join(root, 'sandbox/extensions'));
  return ids.filter((id) => ships(id) && existsSync(path.join(root, 'sandbox/extensions', id, 'contract.ts')));
}

/** In a checkout what is committed, or about to be, comes with Pith. A person's own extension beside it runs in its own process. */
async function trackedExtensions() {
  try {
    const { stdout } = await promisify(execFile)('git', ['ls-files', '--', 'sandbox/extensions'], { cwd: root, maxBuffer: 1 << 26 });
    const ids = new Set(stdout.split('\n').map((file) => file.split('/')[2]));
    return ids.size > 1 ? (id) => ids.has(id) : () => true;
  } catch {
    return () => true; // no checkout, or no git
  }
}

/** For the editors of extension authors. */
async function emitDeclarations(folder) {
  const compiler = path.join(path.dirname(require.resolve('typescript-7/package.json')), 'bin/tsc');
  const config = path.join(folder, 'tsconfig.json');
  const entries = ['packages/*/index.ts', ...(await contracts()).map((id) => `sandbox/extensions/${id}/contract.ts`)];
  const include = entries.map((entry) => path.join(root, entry));
  await writeFile(config, JSON.stringify({ extends: path.join(root, 'tsconfig.build.json'), include }));
  const argv = [compiler, '-p', config, '--outDir', path.join(folder, 'types')];
  try {
    await promisify(execFile)(process.execPath, argv, { cwd: root });
    await rm(config);
  } catch (error) {
    throw new Error(`declarations: ${error.stdout || error.message}`, { cause: error });
  }
  await nameByPath(path.join(folder, 'types'));
}

/** A project in which Pith is installed knows no `@pith/…`: the declarations name each other by paths. */
async function nameByPath(types) {
  for (const entry of await readdir(types, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const text = await readFile(file, 'utf8');
    const to = path.relative(entry.parentPath, path.join(types, 'packages')).split(path.sep).join('/');
    const byPath = text.replace(
      /(['"])@pith\/([\w-]+)\1/g,
      (_, quote, name) => `${quote}${to.startsWith('.') ? to : `./${to}`}/${name}/index.js${quote}`,
    );
    if (byPath !== text) await writeFile(file, byPath);
  }
}

/** The files with fixed names. Each is replaced at once, `build.json` last: the command goes by that alone. */
async function lead(record) {
  const digest = record.build;
  const file = `./${digest}/library`;
  const types = `./${digest}/types`;
  const ofPackages = (await packages()).flatMap((name) => [
    [`packages/${name}.js`, `export * from '.${file}/packages/${name}.mjs';\n`],
    [`packages/${name}.d.ts`, `export * from '.${types}/packages/${name}/index.js';\n`],
  ]);
  const ofContracts = (await contracts()).map((id) => [
    `contracts/${id}.d.ts`,
    `export * from '.${types}/sandbox/extensions/${id}/contract.js';\n`,
  ]);
  for (const made of ['packages', 'contracts']) await mkdir(path.join(dist, made), { recursive: true });
  const texts = {
    'contract.js': `export * from '${file}/contract.mjs';\n`,
    'testing.js': `export * from '${file}/testing.mjs';\n`,
    'embed.js': `export * from '${file}/embed.mjs';\n`,
    'contract.d.ts': `export * from '${types}/core/contract/index.js';\n`,
    // They name types of Node, which a project does not always ask for.
    'testing.d.ts': `/// <reference types="node" />\nexport * from '${types}/core/testing/index.js';\n`,
    'embed.d.ts': `/// <reference types="node" />\nexport * from '${types}/core/embed/index.js';\n`,
    ...Object.fromEntries([...ofPackages, ...ofContracts]),
    '.npmignore': `/*\n${[...FIXED, digest].map((name) => `!/${name}\n`).join('')}/${digest}/users\n/${digest}/compiled\n*.map\n`,
    'build.json': `${JSON.stringify(record)}\n`,
  };
  for (const [name, text] of Object.entries(texts)) {
    const aside = path.join(dist, path.dirname(name), `.${path.basename(name)}-${process.pid}`);
    await writeFile(aside, text);
    await rename(aside, path.join(dist, name));
  }
}

/** From now on it is not the newest. */
async function touch(folder) {
  const now = new Date();
  if (existsSync(folder)) await utimes(folder, now, now);
}

async function removeOld(newest) {
  for (const name of await readdir(dist)) {
    const place = path.join(dist, name);
    const [, maker] = /^\.building-(\d+)$/.exec(name) ?? [];
    if (name === newest || isUsed(place) || (maker !== undefined && isAlive(Number(maker)))) continue;
    if (maker !== undefined || ((await stat(place).catch(() => null))?.mtimeMs ?? Infinity) + KEPT_MS < Date.now())
      await rm(place, { recursive: true, force: true });
  }
}
