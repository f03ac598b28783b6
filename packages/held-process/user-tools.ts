import { existsSync } from 'node:fs';
import path from 'node:path';
import { PROGRAMS } from './bubblewrap.ts';

/** Absolute folders of a search path: a relative one would be another in each folder. */
export function searchFolders(searchPath: string | undefined): readonly string[] {
  return [...new Set((searchPath ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder)))];
}

/** Caches and installations of tools below a home folder. */
const CACHES: readonly string[] = (
  '.npm .cache .yarn .pnpm-store .bun .deno .nvm .fnm .volta .asdf .cargo .rustup go .pyenv .rbenv .gem .sdkman .m2 .gradle .ivy2 .sbt .nuget .dotnet ' +
  '.local/bin .local/lib .local/share/pnpm .local/share/mise .local/share/fnm .local/share/uv .local/share/virtualenv .gitconfig .config/git'
).split(' ');

/** What of these holds keys and passwords. */
const CREDENTIALS: readonly string[] = [
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.m2/settings.xml',
  '.m2/settings-security.xml',
  '.gradle/gradle.properties',
  '.gem/credentials',
  '.sbt/.credentials',
  '.ivy2/.credentials',
  '.nuget/NuGet',
  '.config/git/credentials',
  '.cache/huggingface/token',
  '.cache/gcloud',
];

/** Files below `home` in which tools keep keys and passwords. */
export function credentialFiles(home: string): readonly string[] {
  return CREDENTIALS.map((name) => path.join(home, name));
}

/** What a command may read so that the programs of a search path work: their folders, with what was installed beside them, and caches below `home`. */
export function toolsOf(searchPath: string, home: string): { readonly shown: readonly string[]; readonly hidden: readonly string[] } {
  const isSystems = (folder: string) => PROGRAMS.some((each) => folder === each || folder.startsWith(`${each}/`));
  const roots = searchFolders(searchPath)
    .filter((folder) => !isSystems(folder))
    .map((folder) => installationOf(folder, home));
  const caches = CACHES.map((name) => path.join(home, name));
  return {
    shown: [...new Set([...roots, ...caches])].filter((place) => place !== '/' && place !== home && existsSync(place)).sort(),
    hidden: credentialFiles(home).filter((place) => existsSync(place)),
  };
}

/** `bin` has its libraries beside it, unless it is the person's own folder of links. */
function installationOf(folder: string, home: string): string {
  const parent = path.dirname(folder);
  const isOwn = parent === home || parent === path.join(home, '.local') || parent === '/' || parent === path.dirname(home);
  return ['bin', 'sbin', 'shims'].includes(path.basename(folder)) && !isOwn ? parent : folder;
}

const PASSED =
  /^(?:LC_[A-Z]+|LANGUAGE|TZ|NVM_DIR|CARGO_HOME|RUSTUP_HOME|GOPATH|GOROOT|JAVA_HOME|PYENV_ROOT|RBENV_ROOT|VOLTA_HOME|PNPM_HOME|DOTNET_ROOT)$/u;

/** Variables that say where tools and time zones are; none that may hold a secret. */
export function passedOn(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (PASSED.test(name) && value !== undefined ? [[name, value]] : [])),
  );
}
