import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import { messageOf } from '../contract/errors.ts';
import { stateFolder } from '@pith/safe-files';
import { importRules } from '../loader/import-rules.ts';
import { openBundler } from '../loader/bundle.ts';
import { stampFolder } from '../kernel/discovery/source-files.ts';
import { launchHost } from '../process/launch.ts';
import { systemClock } from '../kernel/system-clock.ts';
import type { ProbeOptions } from './probe.ts';
import type { ProbeFinding } from './report.ts';

const TIMEOUT_MS = 30_000;
const MAX_LINES = 400;
const ENTRY = 'test.mjs';
const ENDED = 'pith: the tests ended with ';

export interface OwnTests {
  readonly id: string;
  readonly directory: string;
  /** Where it may write. */
  readonly dataDirectory: string;
}

/** Runs the `*.test.ts` files beside an extension, written for node:test: each in a separate process, held like an extension's. */
export async function runOwnTests(
  options: ProbeOptions,
  { id, directory, dataDirectory }: OwnTests,
  signal: AbortSignal,
): Promise<{ readonly findings: readonly ProbeFinding[]; readonly tried: readonly string[] }> {
  const files = stampFolder(directory).files.filter((file) => /\.test\.[cm]?[jt]s$/.test(file));
  const findings: ProbeFinding[] = [];
  for (const [index, file] of files.entries()) {
    const place = path.join(dataDirectory, `test-${index}`);
    const why = await runFile(options, id, directory, file, place, signal);
    if (why !== null)
      findings.push({
        check: 'tests',
        severity: 'error',
        code: 'tests_failed',
        file: path.join(directory, file),
        cure: 'fix the source or the test',
        message: why,
      });
  }
  return { findings, tried: files };
}

/** What is wrong; null when all of its tests passed. */
async function runFile(
  { packageRoot, sandbox, home, sandboxing, dataDirectory: stateDirectory }: ProbeOptions,
  id: string,
  directory: string,
  file: string,
  dataDirectory: string,
  signal: AbortSignal,
): Promise<string | null> {
  const entry = path.join(dataDirectory, ENTRY);
  try {
    await stateFolder(dataDirectory).write(ENTRY, await bundleTest(directory, file, packageRoot));
  } catch (error) {
    return `could not be bundled: ${messageOf(error).split('\n').slice(0, 4).join(' ')}`;
  }
  const lines: string[] = [];
  const host = await launchHost({
    extensionId: id,
    entry,
    directory,
    dataDirectory,
    stateDirectory,
    sandbox,
    home,
    isTrial: true,
    packageRoot,
    permissions: { network: false, read: [], write: [] },
    sandboxing: await sandboxing(),
    output: (line) => void (lines.length < MAX_LINES && lines.push(line)),
  });
  const cancel = systemClock.after(TIMEOUT_MS, () =>
    host.kill({ code: 'phase_timeout', message: `they took longer than ${TIMEOUT_MS / 1000} s and were cut` }),
  );
  const abort = () => host.kill({ code: 'aborted', message: 'they were cut, because the check was' });
  signal.addEventListener('abort', abort, { once: true });
  const { message } = await host.ended;
  cancel();
  signal.removeEventListener('abort', abort);
  const ended = lines.findLast((line) => line.startsWith(ENDED));
  if (ended === `${ENDED}0`) return null;
  return ended === undefined ? message : ['tests failed', ...failed(lines)].join('\n');
}

/** As extensions are bundled, but with the whole contract as a file, and `pith/testing`. */
async function bundleTest(directory: string, file: string, packageRoot: string): Promise<string> {
  const { build } = await openBundler();
  const result = await build({
    absWorkingDir: directory,
    entryPoints: [path.join(directory, file)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'silent',
    banner: { js: `process.on('exit', (code) => process._rawDebug('${ENDED}' + (process.exitCode ?? code)));` },
    plugins: [builtContract(packageRoot), importRules({ directory, packageRoot, bundlePackages: false })],
  });
  return result.outputFiles[0]?.text ?? '';
}

function builtContract(packageRoot: string): Plugin {
  const files = { pith: 'dist/contract.js', 'pith/testing': 'dist/testing.js' };
  return {
    name: 'built-contract',
    setup(build) {
      build.onResolve({ filter: /^pith(?:\/testing)?$/ }, ({ path: wanted }) => {
        const built = path.join(packageRoot, files[wanted as keyof typeof files]);
        if (!existsSync(built)) return { errors: [{ text: `${built} is missing: run npm run build` }] };
        return { path: pathToFileURL(built).href, external: true };
      });
    },
  };
}

/** The names of tests that failed and why, in either form that node:test writes. */
function failed(lines: readonly string[]): readonly string[] {
  const told = lines.filter((line) => /^\s*(?:not ok\b|✖|error:|Error|\w*Error:|AssertionError)/.test(line));
  return (told.length > 0 ? told : lines.slice(-8)).slice(0, 12).map((line) => line.trim().slice(0, 300));
}
