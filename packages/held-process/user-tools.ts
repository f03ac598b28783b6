import { existsSync } from 'node:fs';
import path from 'node:path';
import { PROGRAMS } from './bubblewrap.ts';

/** Absolute folders of a search path: a relative one would be another in each folder. */
export function searchFolders(searchPath: string | undefined): readonly string[] {
  return [...new Set((searchPath ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder)))];
}

const CACHES =
  'Cypress bazel bazelisk black ccache composer coursier deno electron electron-builder go-build golangci-lint huggingface/hub mypy ' +
  'ms-playwright node node-gyp nx pip pipenv pnpm pre-commit prisma puppeteer pypoetry ruff sccache turbo typescript uv yarn zig';
const SHARED = 'fnm mise nvm pipx pnpm rtx uv virtualenv virtualenvs';
/** Below a home folder: what tools install and download there. Nothing in which they keep keys, and nothing of the person's own. */
const TOOLS: readonly string[] = [
  ...(
    '.asdf .bun/bin .bun/install .cargo/bin .cargo/env .cargo/git .cargo/registry .deno/bin .dotnet .fnm .gem/ruby .gradle/caches .gradle/jdks ' +
    '.gradle/wrapper .ivy2/cache .ivy2/local .local/bin .local/lib .m2/repository .m2/wrapper .npm/_cacache .npm/_npx .nuget/packages .nvm ' +
    '.pnpm-store .pyenv .rbenv .rustup .sbt/boot .sdkman/bin .sdkman/candidates .volta .yarn/berry go/bin go/pkg sdk ' +
    '.gitconfig .config/git/attributes .config/git/config .config/git/ignore'
  ).split(' '),
  ...CACHES.split(' ').map((name) => `.cache/${name}`),
  ...SHARED.split(' ').map((name) => `.local/share/${name}`),
];

/** What a command may read so that the programs of a search path work: their folders, with what was installed beside them, and what tools keep below `home`. Absolute, sorted. */
export function toolsOf(searchPath: string, home: string): readonly string[] {
  const isSystems = (folder: string) => PROGRAMS.some((each) => folder === each || folder.startsWith(`${each}/`));
  const folders = searchFolders(searchPath).filter((folder) => !isSystems(folder));
  const shown = [...folders.flatMap(installationOf), ...TOOLS.map((name) => path.join(home, name))];
  const isTooMuch = (place: string) => place === home || home.startsWith(place.endsWith('/') ? place : `${place}/`);
  return [...new Set(shown)].filter((place) => !isTooMuch(place) && existsSync(place)).sort();
}

const INSTALLED = 'lib lib32 lib64 libexec share include conf jmods release'.split(' ');
/** Go is known by these two. */
const GO = ['VERSION', 'pkg'];
const GO_INSTALLED = [...GO, 'src', 'api', 'go.env'];

/** A folder of programs, and beside `bin` the libraries of what is installed there; not the folder above, in which anything may lie. */
function installationOf(folder: string): readonly string[] {
  if (!['bin', 'sbin'].includes(path.basename(folder))) return [folder];
  const beside = (name: string) => path.join(path.dirname(folder), name);
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
