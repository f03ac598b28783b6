import { createHash } from 'node:crypto';
import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { isInside } from '@pith/safe-files';
import { isPlainMap, jsonOf, type PlainMap } from '@pith/plain-data';
import { plainText } from './git-settings.ts';

/** null: it names no program. */
export async function fileDigest(file: string): Promise<string | null> {
  const stats = await stat(file).catch(() => null); // the target of a link
  if (stats === null || !stats.isFile()) return `${stats?.mode} ${stats?.ino} ${stats?.ctimeMs}`;
  const text = plainText(file);
  const named = NAMED_IN.get(path.basename(file).toLowerCase())?.(text);
  return named === '' ? null : hashed([named ?? text]);
}

/** The link's target, and the files by which programs could be started through it. */
export async function linkDigest(root: string, link: string): Promise<string | null> {
  const target = await realpath(path.join(root, link)).catch(() => null);
  const parts = [target ?? ''];
  const look = async (folder: string, depth: number): Promise<void> => {
    const entries = await readdir(path.join(root, folder), { withFileTypes: true }).catch(() => []); // gone, or not listable
    for (const entry of entries.slice(0, MOST_LINKED)) {
      const place = `${folder}/${entry.name}`;
      if (entry.isDirectory() && depth > 0) await look(place, depth - 1);
      else if (entry.isFile() && startsBy(place) !== null) parts.push(place, (await fileDigest(path.join(root, place))) ?? '');
    }
  };
  if (target !== null && isInside(target, root)) await look(link, 2);
  return hashed(parts);
}

const MOST_LINKED = 200;

/** Of a manifest, only the parts that name programs: every install changes the rest. */
const NAMED_IN: ReadonlyMap<string, (text: string) => string> = new Map([
  ['package.json', scriptsOf],
  ['composer.json', (text: string) => keysOf(text, ['scripts', 'config', 'repositories'])],
  ['cargo.toml', (text: string) => (text.match(/^\s*(?:build|links|proc-macro)\s*=.*$|\bpath\s*=.*$/gmu) ?? []).join('\n')],
  [
    'pyproject.toml',
    (text: string) =>
      sectionsOf(text)
        .filter((each) => !/^\[(?:project|dependency-groups|.*dependencies)\b/u.test(each))
        .join(''),
  ],
]);

function sectionsOf(toml: string): readonly string[] {
  return toml.split(/^(?=\[)/mu).filter((each) => each.trim() !== '');
}

function keysOf(json: string, keys: readonly string[]): string {
  const manifest = jsonOf(json);
  if (!isPlainMap(manifest)) return json; // not a manifest at the moment
  const values = keys.map((key) => manifest[key] ?? null);
  return values.every((value) => value === null) ? '' : JSON.stringify(values);
}

function scriptsOf(text: string): string {
  const manifest = jsonOf(text);
  if (!isPlainMap(manifest)) return text; // not a manifest at the moment
  return JSON.stringify([...PROGRAMS.map((key) => manifest[key] ?? null), packagesFromElsewhere(manifest)]);
}

const PROGRAMS = 'scripts packageManager devEngines husky lint-staged simple-git-hooks gitHooks pnpm workspaces gypfile'.split(' ');

/** Packages from outside a registry: a folder, an archive, a repository. */
function packagesFromElsewhere(manifest: PlainMap): readonly (readonly [string, string])[] {
  return 'dependencies devDependencies optionalDependencies peerDependencies overrides resolutions'.split(' ').flatMap((kind) =>
    Object.entries(manifest[kind] ?? {}).flatMap(([name, version]: [string, unknown]) => {
      const text = typeof version === 'string' ? version : JSON.stringify(version);
      return /[:/]/u.test(text) && !/^(?:npm|workspace|catalog):[^/]*$/u.test(text) ? [[name, text] as const] : [];
    }),
  );
}

/** Relative to the project. */
export async function foldersNamedBy(root: string, place: string): Promise<readonly string[]> {
  const manifest = jsonOf(plainText(path.join(root, place)));
  if (!isPlainMap(manifest)) return [];
  const { workspaces } = manifest as { readonly workspaces?: unknown };
  const listed = Array.isArray(workspaces)
    ? workspaces
    : ((workspaces as { readonly packages?: unknown } | null | undefined)?.packages ?? []);
  const files = packagesFromElsewhere(manifest).map(([, version]) => version.replace(/^(?:file|link|portal):/u, ''));
  const patterns = [...(Array.isArray(listed) ? listed : []), ...files].map(String).slice(0, MOST_LINKED);
  const base = path.posix.dirname(place);
  return (await Promise.all(patterns.map((pattern) => expanded(root, base, pattern.split('/'))))).flat();
}

/** Expands a pattern of workspaces: `packages/*`, `packages/**`. */
async function expanded(root: string, base: string, [first, ...rest]: readonly string[]): Promise<readonly string[]> {
  if (base.startsWith('..')) return [];
  if (first === undefined) return [base];
  if (!/[*?{[]/u.test(first)) return expanded(root, path.posix.join(base, first), rest);
  const entries = await readdir(path.join(root, base), { withFileTypes: true }).catch(() => []); // there is no such folder
  const names = entries.filter((entry) => !entry.isFile()).map(({ name }) => name);
  const below = names.slice(0, MOST_LINKED).map((name) => path.posix.join(base, name));
  if (first !== '**') return (await Promise.all(below.map((each) => expanded(root, each, rest)))).flat();
  const deeper = base.split('/').length < DEEPEST ? ['**', ...rest] : rest;
  return [...(await expanded(root, base, rest)), ...(await Promise.all(below.map((each) => expanded(root, each, deeper)))).flat()];
}

const DEEPEST = 5;

export function hashed(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('base64url');
}

/** What a file starts, by its path from the project down; null: nothing automatically. The first match counts. */
export function startsBy(place: string): string | null {
  if (place.endsWith('/')) return UNLISTED;
  const plain = place.toLowerCase();
  return FILES.find(({ test }) => test.test(plain))?.starts ?? (LINKS.test(place) ? LINKED : null);
}

/** Folders from which programs start something; a link may have their name. */
export const LINKS =
  /(?:^|\/)\.(?:yarn|mise|config|helix|n?vim|vscode|idea|fleet|zed|devcontainer|husky|githooks|cargo|mvn|pip|claude|cursor|gemini|codex|kiro|roo|windsurf|continue|opencode)$/iu;

const UNLISTED = 'nobody may list this folder, so look at what lies in it yourself';
const LINKED = 'a link in place of a folder from which tools start programs';
const named = (names: string): RegExp => new RegExp(`(?:^|/)(?:${names})$`, 'u');
const FILES: readonly { readonly test: RegExp; readonly starts: string }[] = [
  { test: named('package\\.json|binding\\.gyp'), starts: 'its scripts run when packages are installed or tested' },
  {
    test: named(
      'composer\\.json|gemfile|.+\\.gemspec|setup\\.(?:py|cfg)|pyproject\\.toml|cargo\\.toml|podfile|.+\\.podspec|mix\\.exs|rebar\\.config|package\\.swift|conanfile\\.py|(?:settings|build|init)\\.gradle(?:\\.kts)?|build\\.sbt|project/.+\\.sbt|pom\\.xml|makefile\\.pl|build\\.pl|\\.venv/bin/activate[^/]*|venv/bin/activate[^/]*',
    ),
    starts: 'package managers, or editors by them, run what it says',
  },
  {
    test: named(
      '\\.npmrc|\\.yarnrc|\\.yarnrc\\.ya?ml|\\.?pnpmfile\\.[cm]?js|pnpm-workspace\\.yaml|bunfig\\.toml|\\.yarn/(?:plugins|releases)/.+|pip\\.conf|\\.pip/.+',
    ),
    starts: 'package managers take programs and registries from it',
  },
  {
    test: named(
      '\\.envrc|\\.tool-versions|\\.?mise(?:\\.[\\w-]+)?\\.toml|\\.mise/.+|\\.config/mise/.+|\\.(?:bash|zsh|fish)[\\w-]*|\\.z(?:profile|login|logout)|\\.profile|\\.bash_profile|\\.(?:python|ruby|node|java|go|terraform)-version|\\.nvmrc|\\.sdkmanrc|\\.autoenv(?:\\.zsh)?|(?:flake|shell|default)\\.nix|devenv\\.nix|\\.env\\.(?:ps1|fish)',
    ),
    starts: 'a shell or its prompt may run it when you enter the folder',
  },
  {
    test: named(
      '\\.(?:vscode|idea|fleet|zed|devcontainer)(?:/.+)?|\\.devcontainer\\.json|.+\\.code-workspace|.+\\.sublime-project|\\.helix/.+|\\.rspec|\\.pylintrc|\\.flake8|\\.?mypy\\.ini|\\.rubocop\\.ya?ml|\\.solargraph\\.yml|\\.n?vim/.+|\\.vimrc|\\.exrc|\\.nvim\\.lua|\\.nvimrc|\\.dir-locals(?:-2)?\\.el|\\.?(?:eslint|prettier|stylelint)(?:rc|\\.config)(?:\\.[cm]?[jt]s)?|build\\.rs',
    ),
    starts: 'editors run its tasks, tools or settings when the folder is opened',
  },
  {
    test: named(
      '(?:\\.husky|\\.?git-?hooks)(?:/.+)?|\\.pre-commit-config\\.ya?ml|\\.?lefthook(?:-local)?\\.(?:ya?ml|toml|json)|\\.overcommit\\.yml|\\.lintstagedrc(?:\\..+)?|lint-staged\\.config\\..+|\\.simple-git-hooks\\..+',
    ),
    starts: 'git hooks run it when you commit or push',
  },
  {
    test: named(
      '\\.cargo/config(?:\\.toml)?|rust-toolchain(?:\\.toml)?|\\.bazelrc|\\.bazeliskrc|\\.mvn/.+|gradle/wrapper/.+|\\.gdbinit|\\.lldbinit|\\.pdbrc|\\.irbrc|\\.pryrc|\\.rprofile|\\.ocamlinit|\\.ghci|[^/]+\\.config\\.[cm]?[jt]s',
    ),
    starts: 'tools take programs from it when they start',
  },
  {
    test: named(
      '\\.claude/settings(?:\\.local)?\\.json|\\.(?:cursor|gemini|codex|kiro|roo|windsurf|continue)/.*\\.(?:json|toml|ya?ml|js|ts)|\\.mcp\\.json|opencode\\.jsonc?|\\.opencode/.+',
    ),
    starts: 'agents take servers and hooks from it',
  },
];
