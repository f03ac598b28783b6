import type { ConfinedOutcome, ConfinedPath } from '@pith/supervised-process';
import { namesIn, realPathOf } from '@pith/safe-files';
import path from 'node:path';

/** How a Python script with inline metadata is run. */
export interface UvRun {
  readonly argv: readonly string[];
  readonly readOnly: readonly ConfinedPath[];
  readonly env: Readonly<Record<string, string>>;
}

const CACHE = '/tmp/uv-cache';
/** What uv has fetched. The rest of its cache it writes while it works: it gets a new one. */
const FETCHED = /^(archive|wheels|simple|flat-index|git)-v\d+$/u;
const BUILT = /^sdists-v\d+$/u;

/** Where a person has uv who did not install it for all. */
export function uvFolders(home: string | null): readonly string[] {
  return home === null ? [] : [path.join(home, '.local/bin'), path.join(home, '.cargo/bin')];
}

/** null: uv is not installed. `home`: where a person has what it fetched. */
export function uvRun(script: string, program: string | null, home: string | null, isConfined: boolean): UvRun | null {
  if (program === null) return null;
  const argv = [program, 'run', '--offline', '--script', script];
  const base = { UV_OFFLINE: '1', UV_PYTHON_DOWNLOADS: 'never', UV_NO_PROGRESS: '1', UV_NO_CONFIG: '1' };
  const cache = home === null ? null : path.join(home, '.cache/uv');
  const pythons = home === null ? null : path.join(home, '.local/share/uv/python');
  const python: Readonly<Record<string, string>> = pythons === null ? {} : { UV_PYTHON_INSTALL_DIR: pythons };
  if (!isConfined) return { argv, readOnly: [], env: { ...base, ...python, ...(cache === null ? {} : { UV_CACHE_DIR: cache }) } };
  const readOnly: ConfinedPath[] = [
    { from: realPathOf(program), at: program },
    ...(pythons !== null && namesIn(pythons).length > 0 ? [pythons] : []),
    ...(cache === null ? [] : fetched(cache)),
  ];
  // Of a temporary folder of limited size: packages are linked, not copied.
  return { argv, readOnly, env: { ...base, ...python, UV_CACHE_DIR: CACHE, UV_LINK_MODE: 'symlink' } };
}

/** Whether uv itself ended, before it came to the script, because something has not been fetched. */
export function lacksPackages({ exit, stdout, stderr }: Pick<ConfinedOutcome, 'exit' | 'stdout' | 'stderr'>): boolean {
  const first = stderr.split('\n').find((line) => line.trim() !== '' && !REMARK.test(line)) ?? '';
  return (exit === 1 || exit === 2) && stdout === '' && OWN_ERROR.test(first) && MISSING.test(stderr);
}

/** What uv says before it is in trouble. */
const REMARK = /^(?:warning: |Using |Reading |Creating )/u;
const OWN_ERROR = /^\s*(?:[\u00d7x] |error: )/u;
const MISSING =
  /network was disabled|network connectivity is disabled|not found in the cache|no solution found|no interpreter found|offline mode/iu;

/** What a person types once to fetch the packages of a script. */
export function fetchCommand(script: string): string {
  return `uv sync --script '${script.replaceAll("'", `'\\''`)}'`;
}

function fetched(cache: string): readonly ConfinedPath[] {
  return namesIn(cache).flatMap((bucket) => {
    const from = path.join(cache, bucket);
    if (FETCHED.test(bucket)) return [{ from, at: `${CACHE}/${bucket}` }];
    if (!BUILT.test(bucket)) return [];
    return namesIn(from)
      .filter((name) => !name.startsWith('.'))
      .map((name) => ({ from: path.join(from, name), at: `${CACHE}/${bucket}/${name}` }));
  });
}
