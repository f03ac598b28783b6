import { constants, copyFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import { namesIn, isBelow, isInside, secretPlaces, stateFolder } from '@pith/safe-files';
import { PROGRAMS } from './bubblewrap.ts';

/** Absolute folders of a search path: a relative one would be another in each folder. */
export function searchFolders(searchPath: string | undefined): readonly string[] {
  return [...new Set((searchPath ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder)))];
}

const CACHES =
  'Cypress bazel bazelisk black ccache deno electron electron-builder golangci-lint huggingface/hub mypy ms-playwright node nx pre-commit ' +
  'prisma puppeteer ruff sccache turbo typescript zig';
const SHARED = 'fnm mise nvm pipx pnpm rtx uv virtualenv virtualenvs';
/** Below a home folder: what tools install there. Nothing in which they keep keys, and nothing of the person's own. */
const TOOLS: readonly string[] = [
  ...(
    '.asdf .bun/bin .bun/install .cargo/bin .cargo/env .deno/bin .dotnet .fnm .gem/ruby .gradle/jdks .ivy2/local .local/bin .local/lib .m2/wrapper ' +
    '.nvm .pyenv .rbenv .rustup .sbt/boot .sdkman/bin .sdkman/candidates .volta go/bin go/pkg sdk ' +
    '.gitconfig .config/git/attributes .config/git/config .config/git/ignore'
  ).split(' '),
  ...CACHES.split(' ').map((name) => `.cache/${name}`),
  ...SHARED.split(' ').map((name) => `.local/share/${name}`),
];

/** Below a home folder: caches that their tools must write, or do nothing. */
const WRITTEN: readonly string[] = [
  ...'.npm .yarn/berry .pnpm-store .local/share/pnpm/store .bun/install/cache .gradle .pip'.split(' '),
  ...'composer coursier go-build node-gyp pip pipenv pnpm pypoetry uv yarn'.split(' ').map((name) => `.cache/${name}`),
];
/** Those that tools also use as they are, as long as nothing is fetched. */
const FETCHED = '.cargo/registry .cargo/git go/pkg/mod .m2/repository .nuget/packages .ivy2/cache'.split(' ');
/** Folders of small programs that a tool writes again after each install: a copy, to which new ones of the person's are added. */
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

/** Of a person: where they live, their environment, and the folder of the caches that their commands write instead of their own. */
export interface ToolPlaces {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly caches: string | null;
  /** Whether something may be fetched. */
  readonly network: boolean;
}

/**
 * Caches of tools that commands write: each is where its tool expects it, and a folder below `caches`, never the person's. One
 * that tools can read as it is becomes a command's own when something is first fetched.
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

/** Commands write in the copy: whatever is there is neither replaced nor followed. */
function addMissing(source: string, copy: string): void {
  const there = new Set(namesIn(copy));
  for (const name of namesIn(source).filter((each) => !there.has(each))) {
    try {
      copyFileSync(path.join(source, name), path.join(copy, name), constants.COPYFILE_EXCL);
    } catch {
      // a folder, or another command of this moment was faster
    }
  }
}

function placeOf(name: string, home: string, env: ToolPlaces['env']): string {
  const [folder, variable] = ELSEWHERE.find(([each]) => isInside(`/${name}`, `/${each}`)) ?? [];
  const moved = variable === undefined ? undefined : env[variable];
  return moved === undefined || !path.isAbsolute(moved) ? path.join(home, name) : path.join(moved, path.relative(folder as string, name));
}

/** What a command may read so that the programs of a search path work: their folders, with what was installed beside them, and what tools keep below `home`; nothing that lies in `left`, and no place of keys. Absolute, sorted. */
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

/** A place, or where something in it is hidden, what else is in it. */
function without(place: string, hidden: readonly string[]): readonly string[] {
  if (hidden.includes(place)) return [];
  if (!hidden.some((each) => isBelow(each, place))) return [place];
  return namesIn(place).flatMap((name) => without(path.join(place, name), hidden));
}

/** Settings of the system's tools. */
const OF_SYSTEM = /^(?:fonts|gitconfig|java.*|locale\.alias|maven|mime\.types|os-release|protocols|python.*|services|terminfo)$/u;

/** What the tools of the system need in `/etc`. Absolute. */
export function systemSettings(): readonly string[] {
  return namesIn('/etc')
    .filter((name) => OF_SYSTEM.test(name))
    .map((name) => `/etc/${name}`);
}

const INSTALLED = 'lib lib32 lib64 libexec share include conf jmods release'.split(' ');
/** Go is known by these two. */
const GO = ['VERSION', 'pkg'];
const GO_INSTALLED = [...GO, 'src', 'api', 'go.env'];

/** A folder of programs, and beside `bin` the libraries of what is installed there; not the folder above, in which anything may lie. The folders beside `~/bin` and `~/.local/bin` were not installed with them. */
function installationOf(folder: string, home: string): readonly string[] {
  const above = path.dirname(folder);
  if (!['bin', 'sbin'].includes(path.basename(folder)) || [home, path.join(home, '.local')].includes(above)) return [folder];
  const beside = (name: string) => path.join(above, name);
  return [folder, ...[...INSTALLED, ...(GO.every((name) => existsSync(beside(name))) ? GO_INSTALLED : [])].map(beside)];
}

const PASSED =
  /^(?:LC_[A-Z]+|LANGUAGE|TZ|NVM_DIR|CARGO_HOME|RUSTUP_HOME|GOPATH|GOROOT|JAVA_HOME|PYENV_ROOT|RBENV_ROOT|VOLTA_HOME|PNPM_HOME|DOTNET_ROOT)$/u;

/** Variables that say where tools and time zones are; none that may hold a secret. */
export function passedOn(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (PASSED.test(name) && value !== undefined ? [[name, value]] : [])),
  );
}
