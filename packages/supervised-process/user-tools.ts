import { constants, copyFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import { namesIn, isBelow, isInside, secretPlaces, stateFolder } from '@pith/safe-files';
import { PROGRAMS } from './bubblewrap.ts';

/** The absolute folders of a search path: a relative one would differ in each folder. */
export function searchFolders(searchPath: string | undefined): readonly string[] {
  return [...new Set((searchPath ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder)))];
}

const CACHES =
  'Cypress bazel bazelisk black ccache deno electron electron-builder golangci-lint huggingface/hub mypy ms-playwright node nx pre-commit ' +
  'prisma puppeteer ruff sccache turbo typescript zig';
const SHARED = 'fnm mise nvm pipx pnpm rtx uv virtualenv virtualenvs';
/** Below a home folder: installed tools. No folder with keys or with the person's own files. */
const TOOLS: readonly string[] = [
  ...(
    '.asdf .bun/bin .bun/install .cargo/bin .cargo/env .deno/bin .dotnet .fnm .gem/ruby .gradle/jdks .ivy2/local .local/bin .local/lib .m2/wrapper ' +
    '.nvm .pyenv .rbenv .rustup .sbt/boot .sdkman/bin .sdkman/candidates .volta go/bin go/pkg sdk ' +
    '.gitconfig .config/git/attributes .config/git/config .config/git/ignore'
  ).split(' '),
  ...CACHES.split(' ').map((name) => `.cache/${name}`),
  ...SHARED.split(' ').map((name) => `.local/share/${name}`),
];

/** Below a home folder: caches that tools must be able to write. */
const WRITTEN: readonly string[] = [
  ...'.npm .yarn/berry .pnpm-store .local/share/pnpm/store .bun/install/cache .gradle .pip'.split(' '),
  ...'composer coursier go-build node-gyp pip pipenv pnpm pypoetry uv yarn'.split(' ').map((name) => `.cache/${name}`),
];
/** Caches that tools can use read-only until something is fetched. */
const FETCHED = '.cargo/registry .cargo/git go/pkg/mod .m2/repository .nuget/packages .ivy2/cache'.split(' ');
/** Folders of small programs that a tool rewrites after each install: commands get a copy, to which new ones of the person's are added. */
const SHIMS = '.asdf/shims .pyenv/shims .rbenv/shims'.split(' ');
/** Variables that put a folder of home elsewhere. */
const ELSEWHERE: readonly (readonly [folder: string, variable: string])[] = [
  ['.cargo', 'CARGO_HOME'],
  ['go', 'GOPATH'],
  ['.local/share/pnpm', 'PNPM_HOME'],
  ['.rustup', 'RUSTUP_HOME'],
  ['.nvm', 'NVM_DIR'],
  ['.pyenv', 'PYENV_ROOT'],
  ['.rbenv', 'RBENV_ROOT'],
  ['.volta', 'VOLTA_HOME'],
  ['.dotnet', 'DOTNET_ROOT'],
];

/** A person's home and environment, and the folder of the caches that their commands write instead of their own. */
export interface ToolPlaces {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly caches: string | null;
  /** Whether something may be fetched. */
  readonly network: boolean;
}

/**
 * The tool caches of commands: each appears where its tool expects it and is a folder below `caches`, never the person's. A cache that
 * tools can read in place becomes the command's own when something is first fetched.
 */
export function ownCaches({ home, env, caches, network }: ToolPlaces): readonly { readonly from: string; readonly at: string }[] {
  if (caches === null) return [];
  const own = (name: string) => path.join(caches, name.replaceAll('/', '+'));
  const shims = SHIMS.filter((name) => existsSync(placeOf(name, home, env)));
  return [...WRITTEN, ...shims, ...FETCHED.filter((name) => network || existsSync(own(name)))].flatMap((name) => {
    const place = { from: own(name), at: placeOf(name, home, env) };
    if (isSystems(place.at) && !existsSync(place.at)) return []; // nothing can be mounted there
    stateFolder(place.from).make();
    if (SHIMS.includes(name)) addMissing(place.at, place.from);
    return [place];
  });
}

/** Commands write in the copy, so nothing in it is replaced or followed. */
function addMissing(source: string, copy: string): void {
  const there = new Set(namesIn(copy));
  for (const name of namesIn(source).filter((each) => !there.has(each))) {
    try {
      copyFileSync(path.join(source, name), path.join(copy, name), constants.COPYFILE_EXCL);
    } catch {
      // a folder, or another command was faster
    }
  }
}

function placeOf(name: string, home: string, env: ToolPlaces['env']): string {
  const [folder, variable] = ELSEWHERE.find(([each]) => isInside(`/${name}`, `/${each}`)) ?? [];
  const moved = variable === undefined ? undefined : env[variable];
  return moved === undefined || !path.isAbsolute(moved) ? path.join(home, name) : path.join(moved, path.relative(folder as string, name));
}

/**
 * The places that the programs of a search path need to read: their folders, what was installed beside them, and what tools keep below
 * `home`; without what is in `left` and all places of keys. Absolute, sorted.
 */
export function toolsOf({ home, env }: ToolPlaces, left: readonly string[]): readonly string[] {
  const folders = searchFolders(env['PATH']).filter((folder) => !isSystems(folder));
  const kept = [...FETCHED, ...TOOLS].flatMap((name) => [path.join(home, name), placeOf(name, home, env)]);
  const shown = [...folders.flatMap((folder) => installationOf(folder, home)), ...kept];
  const isTooMuch = (place: string) => place === home || home.startsWith(place.endsWith('/') ? place : `${place}/`);
  const hidden = [...left, ...secretPlaces(home)];
  return [...new Set(shown)]
    .filter((place) => !isTooMuch(place) && existsSync(place))
    .flatMap((place) => without(place, hidden))
    .sort();
}

function isSystems(place: string): boolean {
  return PROGRAMS.some((each) => isInside(place, each));
}

/** The place itself, or where it contains something hidden, its other entries. */
function without(place: string, hidden: readonly string[]): readonly string[] {
  if (hidden.includes(place)) return [];
  if (!hidden.some((each) => isBelow(each, place))) return [place];
  return namesIn(place).flatMap((name) => without(path.join(place, name), hidden));
}

/** Settings of the system's tools. */
const OF_SYSTEM = /^(?:fonts|gitconfig|java.*|locale\.alias|maven|mime\.types|os-release|protocols|python.*|services|terminfo)$/u;

/** What the system's tools need in `/etc`. Absolute. */
export function systemSettings(): readonly string[] {
  return namesIn('/etc')
    .filter((name) => OF_SYSTEM.test(name))
    .map((name) => `/etc/${name}`);
}

const INSTALLED = 'lib lib32 lib64 libexec share include conf jmods release'.split(' ');
/** The entries that identify an installation of Go. */
const GO = ['VERSION', 'pkg'];
const GO_INSTALLED = [...GO, 'src', 'api', 'go.env'];

/**
 * A folder of programs, and for `bin` the libraries beside it; not the folder above, which may contain anything. The folders beside `~/bin`
 * and `~/.local/bin` do not belong to the programs.
 */
function installationOf(folder: string, home: string): readonly string[] {
  const above = path.dirname(folder);
  if (!['bin', 'sbin'].includes(path.basename(folder)) || [home, path.join(home, '.local')].includes(above)) return [folder];
  const beside = (name: string) => path.join(above, name);
  return [folder, ...[...INSTALLED, ...(GO.every((name) => existsSync(beside(name))) ? GO_INSTALLED : [])].map(beside)];
}

const PASSED =
  /^(?:LC_[A-Z]+|LANGUAGE|TZ|NVM_DIR|CARGO_HOME|RUSTUP_HOME|GOPATH|GOROOT|JAVA_HOME|PYENV_ROOT|RBENV_ROOT|VOLTA_HOME|PNPM_HOME|DOTNET_ROOT)$/u;

/** Variables with the places of tools and time zones; none that may be secret. */
export function passedOn(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (PASSED.test(name) && value !== undefined ? [[name, value]] : [])),
  );
}
