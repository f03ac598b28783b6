import { existsSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { execPath } from 'node:process';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import type { ConfinedPrograms } from '@pith/supervised-process';
import { messageOf } from 'pith';
import { readSources, writeSources } from '../sources.ts';
import type { TrialFinding } from './report.ts';

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT = 100_000;
const MEMORY_MB = 512;

export interface OwnTests {
  readonly programs: ConfinedPrograms;
  /** Where the extension is, for trial. */
  readonly directory: string;
  /** A folder to be made, which they may write. */
  readonly place: string;
  /** The folder of Pith's package. */
  readonly pith: string;
  /** Whether nothing shall hold them. */
  readonly bare: boolean;
}

/** Runs the `*.test.ts` files beside an extension, written for node:test: each in a separate process without the network. */
export async function runOwnTests(
  tests: OwnTests,
  signal: AbortSignal,
): Promise<{ readonly findings: readonly TrialFinding[]; readonly tried: readonly string[] }> {
  const files = (await readSources(tests.directory)).map(({ path }) => path).filter((file) => /\.test\.[cm]?[jt]s$/.test(file));
  const findings: TrialFinding[] = [];
  for (const [index, file] of files.entries()) {
    const message = await runFile(tests, file, join(tests.place, String(index)), signal);
    if (message === null) continue;
    const cure = 'fix the source or the test';
    findings.push({ check: 'tests', severity: 'error', code: 'tests_failed', file: join(tests.directory, file), cure, message });
  }
  return { findings, tried: files };
}

/** What is wrong; null when all of its tests passed. */
async function runFile(
  { programs, directory, bare, pith }: OwnTests,
  file: string,
  place: string,
  signal: AbortSignal,
): Promise<string | null> {
  const entry = 'test.mjs';
  try {
    await writeSources(place, [{ path: entry, bytes: Buffer.from(await bundleTest(directory, file, pith)) }]);
  } catch (error) {
    return `could not be bundled: ${messageOf(error).split('\n').slice(0, 4).join(' ')}`;
  }
  const outcome = await programs.run(
    {
      argv: [execPath, `--max-old-space-size=${MEMORY_MB / 2}`, '--no-warnings', join(place, entry)],
      cwd: place,
      readOnly: [directory, ...partsOfPith(pith), ...packagesAbove(directory)],
      writable: [place],
      timeoutMs: TIMEOUT_MS,
      maxOutputBytes: MAX_OUTPUT,
      memoryMb: MEMORY_MB,
      sandbox: bare ? 'none' : 'required',
    },
    signal,
  );
  if (outcome.stopped !== null) return `the tests were ended: ${outcome.stopped}`;
  if (outcome.exit === 0) return null;
  const lines = `${outcome.stdout}\n${outcome.stderr}`.split('\n');
  if (lines.some((line) => line.includes('heap out of memory'))) return `the tests filled their heap of ${MEMORY_MB / 2} MB`;
  return ['tests failed', ...failed(lines)].join('\n');
}

/** Not all of Pith's package: it may be the project, too. */
function partsOfPith(pith: string): readonly string[] {
  const parts = ['package.json', 'dist', 'sandbox/extensions', 'sandbox/agents', 'sandbox/skills'].map((part) => join(pith, part));
  return [...parts.filter((part) => existsSync(part)), ...packagesAbove(pith)];
}

/** The folders of packages that are found from a folder. */
function packagesAbove(folder: string): readonly string[] {
  const above = dirname(folder) === folder ? [] : packagesAbove(dirname(folder));
  const packages = join(folder, 'node_modules');
  return existsSync(packages) ? [...above, packages] : above;
}

/** With the whole contract as a file, and `pith/testing`. */
async function bundleTest(directory: string, file: string, pith: string): Promise<string> {
  const { build } = await import('esbuild');
  const result = await build({
    absWorkingDir: directory,
    entryPoints: [join(directory, file)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'silent',
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    plugins: [testImports(directory, pith)],
  });
  return result.outputFiles[0]?.text ?? '';
}

const LOOKING = Symbol('looking');

/** Pith as it is built, contracts of other extensions, packages as they are found from the extension, else from Pith, and files of the extension itself. */
function testImports(directory: string, pith: string): Plugin {
  const builtOf = (name: string): string | null => {
    if (name === 'pith') return 'dist/contract.js';
    if (name === 'pith/testing') return 'dist/testing.js';
    return name.startsWith('@pith/') ? `dist/packages/${name.slice('@pith/'.length)}.js` : null;
  };
  return {
    name: 'test-imports',
    setup(plugin) {
      plugin.onResolve({ filter: /.*/ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
        if (kind === 'entry-point' || pluginData === LOOKING) return undefined;
        if (isBuiltin(path)) return { path, external: true };
        const built = builtOf(path);
        if (built !== null) {
          const at = join(pith, built);
          return existsSync(at) ? outside(at) : { errors: [{ text: `${at} is missing: run npm run build` }] };
        }
        const other = /^pith\/([a-z][a-z0-9_]*)$/.exec(path)?.[1];
        if (other !== undefined) {
          const at = [dirname(directory), join(pith, 'sandbox/extensions')]
            .map((folder) => join(folder, other, 'contract.ts'))
            .find(existsSync);
          return at === undefined
            ? { errors: [{ text: `there is no contract.ts of '${other}': add it to depends_on, or correct the name` }] }
            : { path: at };
        }
        const look = (from: string) => plugin.resolve(path, { resolveDir: from, kind, importer, pluginData: LOOKING });
        const isPackage = /^[a-z@]/i.test(path) && !path.includes(':');
        const near = await look(resolveDir);
        const found = isPackage && near.errors.length > 0 ? await look(pith) : near;
        if (found.errors.length > 0) return { errors: [{ text: found.errors[0]?.text ?? '' }] };
        if (isPackage) return outside(found.path);
        return found.path.startsWith(directory + sep)
          ? { path: found.path }
          : { errors: [{ text: `'${path}' leaves the extension's folder` }] };
      });
    },
  };
}

const outside = (file: string) => ({ path: pathToFileURL(file).href, external: true });

/** The names of tests that failed and why, in either form that node:test writes. */
function failed(lines: readonly string[]): readonly string[] {
  const errors = lines.filter((line) => /^\s*(?:not ok\b|✖|error:|Error|\w*Error:|AssertionError)/.test(line));
  return (errors.length > 0 ? errors : lines.slice(-8)).slice(0, 12).map((line) => line.trim().slice(0, 300));
}
