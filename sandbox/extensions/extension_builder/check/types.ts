import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { execPath } from 'node:process';
import type { Places } from 'pith';
import { runProgram } from '@pith/supervised-process';
import type { StateFolder } from '@pith/safe-files';
import type { Finding } from '../finding.ts';

const TIMEOUT_MS = 120_000;
const MAX_OUTPUT = 4 * 1024 * 1024;
const MAX_FINDINGS = 50;

export interface TypePlaces extends Pick<Places, 'shippedSandbox'> {
  /** Where the compiler's project is put. */
  readonly cache: StateFolder;
  /** Whose extensions' contracts are found before those that ship. */
  readonly sandbox: string;
}

/** Holds the sources of an extension to the types of the contracts, by the compiler in a separate process. */
export async function typeFindings(
  folder: string,
  sources: readonly string[],
  { cache, ...places }: TypePlaces,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const files = sources.filter((path) => /\.[cm]?tsx?$/.test(path)).map((path) => join(folder, path));
  if (files.length === 0) return [];
  const project = `types-${randomUUID()}.json`;
  await cache.write(project, JSON.stringify(projectOf(files, places)), { durable: false });
  try {
    return await compile(dirname(places.shippedSandbox), [join(cache.path, project), folder], signal);
  } finally {
    cache.remove(project);
  }
}

/** As the bundler reads the sources. */
function projectOf(files: readonly string[], { sandbox, shippedSandbox }: Omit<TypePlaces, 'cache'>) {
  const root = dirname(shippedSandbox); // Pith's own package
  const built = join(root, 'dist/contract.d.ts');
  // Beside Pith's own where a project has installed it.
  const types = createRequire(join(root, 'package.json')).resolve('@types/node/package.json');
  const packages = dirname(dirname(dirname(types)));
  return {
    compilerOptions: {
      target: 'ES2022',
      lib: ['ES2023'],
      module: 'ESNext',
      moduleResolution: 'Bundler',
      strict: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      experimentalDecorators: true,
      isolatedModules: true,
      skipLibCheck: true,
      types: ['node'],
      typeRoots: [join(packages, '@types')],
      paths: {
        pith: [existsSync(built) ? built : join(root, 'core/contract/index.ts')],
        '@pith/*': [join(root, 'dist/packages/*.d.ts')],
        'pith/*': [sandbox, shippedSandbox].map((each) => join(each, 'extensions/*/contract.ts')),
        '*': [join(packages, '*')],
      },
    },
    files,
  };
}

async function compile(pith: string, [project, folder]: readonly [string, string], signal: AbortSignal): Promise<readonly Finding[]> {
  const compiler = createRequire(join(pith, 'package.json')).resolve('typescript-7/package.json');
  const argv = [execPath, join(dirname(compiler), 'bin/tsc'), '-p', project, '--pretty', 'false'];
  const { code, output, errors, passed } = await runProgram(
    { argv, cwd: folder, env: {}, mostBytes: MAX_OUTPUT, mostMs: TIMEOUT_MS },
    signal,
  );
  if (code === 0) return [];
  const findings = findingsOf(output.toString(), folder);
  if (findings.length > 0) return findings;
  const why = passed === 'time' ? `it took longer than ${TIMEOUT_MS / 1000} s` : errors.trim().split('\n').at(-1) || `exit ${code}`;
  return [{ severity: 'error', message: `the types could not be checked: ${why}`, cure: 'make the extension smaller, or check it again' }];
}

/** `main.ts(3,5): error TS2322: …`, and lines that go on. */
function findingsOf(output: string, folder: string): readonly Finding[] {
  const findings: Finding[] = [];
  for (const line of output.split('\n')) {
    const [, file, at, code, message] =
      /^(.+?)\((\d+),\d+\): error (TS\d+): (.+)$/.exec(line) ?? /^()()error (TS\d+): (.+)$/.exec(line) ?? [];
    const last = findings.at(-1);
    if (code !== undefined) {
      const place = file ? { file: resolve(folder, file), line: Number(at) } : {};
      findings.push({ severity: 'error', message: `${message} (${code})`, ...place });
    } else if (last !== undefined && line.startsWith('  ') && last.message.length < 600) {
      findings[findings.length - 1] = { ...last, message: `${last.message} ${line.trim()}` };
    }
    if (findings.length > MAX_FINDINGS) break;
  }
  return findings.slice(0, MAX_FINDINGS);
}
