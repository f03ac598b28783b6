import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { printableLine } from '@pith/plain-text';
import { runGit } from '@pith/project-files';
import { isInside } from '@pith/safe-files';
import type { Project } from '../files/project.ts';
import { isAnswered, namedBy } from './git-guard.ts';
import { isHarmless, isTooLarge, listedSettings, plainText } from './git-settings.ts';
import { isBare, isForbidden, walk, type FolderSearch, type Seen } from './project-walk.ts';

/** What programs of the person's start by themselves from a project, as it was at one time: by its place, a digest of what it says. */
export interface AutorunFiles {
  /** Relative to the project, with `/`. A repository has the place of its settings; a folder that cannot be listed ends in `/`. */
  readonly digests: ReadonlyMap<string, string>;
  /** Entries of an index that are repositories: git in the outer one looks into them, too. */
  readonly gitlinks: ReadonlySet<string>;
  /** False: there are more folders than are looked into. */
  readonly isWhole: boolean;
}

/** One that came or changed. */
export interface ChangedAutorun {
  readonly place: string;
  readonly isNew: boolean;
  /** What starts from it, for people; null: nothing, as it is now. */
  readonly starts: string | null;
  /** For a repository: the folder in which git would use it. */
  readonly repository: string | null;
}

/** A project, and where Pith keeps its state. */
export interface LookedThrough extends Pick<Project, 'jail' | 'root'> {
  /** Absolute. */
  readonly state: string;
}

/** Nothing yet. */
export const NO_AUTORUN_FILES: AutorunFiles = { digests: new Map(), gitlinks: new Set(), isWhole: true };

const MOST_FOLDERS = 200_000;

/** Finds autorun files while a project is walked through, without a folder of state. What it finds is read and never used. */
export class AutorunSearch implements FolderSearch {
  readonly isStrict = false;
  readonly #digests = new Map<string, string>();
  #looked = 0;

  constructor(private readonly place: LookedThrough) {}

  enters(names: readonly string[]): boolean {
    if (REPOSITORY.test(names.at(-1) ?? '') || path.join(this.place.root, ...names) === this.place.state) return false;
    this.#looked += 1;
    return this.#looked <= MOST_FOLDERS;
  }

  async see(names: readonly string[], entries: readonly Seen[], isListed: boolean): Promise<void> {
    const { root } = this.place;
    const folder = names.join('/');
    const isPackages = PACKAGES.test(folder);
    if (!isListed) this.#digests.set(`${folder === '' ? '.' : folder}/`, '');
    if (isBare(entries)) this.#digests.set(folder === '' ? '.' : folder, await repositoryDigest(path.join(root, folder)));
    for (const { name, type } of entries) {
      const place = folder === '' ? name : `${folder}/${name}`;
      if (REPOSITORY.test(name)) this.#digests.set(place, await repositoryDigest(path.join(root, place)));
      else if (type !== 'directory' && (!isPackages || ACTIVATE.test(place)) && startsBy(place) !== null) await this.#look(place);
    }
  }

  async #look(place: string): Promise<void> {
    const digest = await (LINKS.test(place) ? linkDigest(this.place.root, place) : fileDigest(path.join(this.place.root, place)));
    if (digest !== null) this.#digests.set(place, digest);
  }

  /** Package managers run the manifests that others name wherever these lie, also among packages. */
  async #lookAtNamed(): Promise<void> {
    const manifests = [...this.#digests.keys()].filter((place) => MANIFEST.test(place));
    for (let at = 0; at < manifests.length && at < MOST_MANIFESTS; at += 1) {
      const folders = await foldersNamedBy(this.place.root, manifests[at] ?? '');
      for (const place of folders.flatMap((folder) => ['package.json', 'binding.gyp'].map((name) => path.posix.join(folder, name)))) {
        if (this.#digests.has(place) || !existsSync(path.join(this.place.root, place))) continue;
        await this.#look(place);
        if (MANIFEST.test(place)) manifests.push(place);
      }
    }
  }

  async found(signal: AbortSignal): Promise<AutorunFiles> {
    await this.#lookAtNamed();
    const gitlinks = await gitlinksOf(this.place.root, [...this.#digests.keys()], signal);
    return { digests: this.#digests, gitlinks, isWhole: this.#looked <= MOST_FOLDERS };
  }
}

export async function autorunFilesOf(place: LookedThrough, signal: AbortSignal): Promise<AutorunFiles> {
  const search = new AutorunSearch(place);
  await walk(place, [search], signal);
  return search.found(signal);
}

/** The repositories and the folders that nobody may list among places, each with the repositories around it: the folder of the outer one and the way from there. */
export function nestedRepositories(places: readonly string[]): readonly { readonly outer: string; readonly inner: string }[] {
  const repositories = places.filter((place) => path.posix.basename(place) === '.git').map((place) => path.posix.dirname(place));
  const unlisted = places.filter((place) => place.endsWith('/')).map((place) => place.slice(0, -1));
  return [...new Set([...repositories, ...unlisted])].flatMap((folder) =>
    repositories
      .filter((outer) => folder !== outer && (outer === '.' || folder.startsWith(`${outer}/`)))
      .map((outer) => ({ outer, inner: path.posix.relative(outer, folder) })),
  );
}

async function gitlinksOf(root: string, places: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const nested = grouped(nestedRepositories(places));
  for (const [outer, inner] of nested) {
    if (!isAnswered(path.join(root, outer), root)) continue;
    const asked = inner.slice(0, MOST_NESTED).map((each) => `:(literal)${each.inner}`);
    const listed = await runGit(path.join(root, outer), ['ls-files', '--stage', '-z', '--', ...asked], signal);
    for (const entry of (listed ?? '').split('\0')) {
      const [, name] = /^160000 \S+ \d\t([^]+)$/u.exec(entry) ?? [];
      if (name !== undefined) found.add(path.posix.join(outer, name));
    }
  }
  return found;
}

function grouped<Each extends { readonly outer: string }>(all: readonly Each[]): ReadonlyMap<string, readonly Each[]> {
  const groups = new Map<string, Each[]>();
  for (const each of all) groups.set(each.outer, [...(groups.get(each.outer) ?? []), each]);
  return groups;
}

/** As many paths as fit among the arguments of a program. */
const MOST_NESTED = 1000;

/** What came or changed between two looks, in the order of places. What is gone starts nothing. */
export async function changesBetween(
  root: string,
  before: AutorunFiles,
  now: AutorunFiles,
  signal: AbortSignal,
): Promise<readonly ChangedAutorun[]> {
  const places = [...now.digests].filter(([place, digest]) => before.digests.get(place) !== digest).map(([place]) => place);
  return Promise.all(
    places.sort().map(async (place): Promise<ChangedAutorun> => {
      const isNew = !before.digests.has(place);
      if (startsBy(place) !== null) return { place, isNew, starts: startsBy(place), repository: null };
      const isNested = REPOSITORY.test(path.posix.basename(place));
      return {
        place,
        isNew,
        starts: await startsOf(path.join(root, place), signal),
        repository: isNested ? path.posix.dirname(place) : place,
      };
    }),
  );
}

/** How changes are told: a line for each repository, and one for all files of a kind. */
export function toldAs(changes: readonly ChangedAutorun[]): readonly string[] {
  const files = new Map<string, string[]>();
  const lines: string[] = [];
  for (const { place, isNew, starts, repository } of changes) {
    const shown = printableLine(place, 200);
    if (repository === null) {
      const how = `new or changed: ${starts}`;
      files.set(how, [...(files.get(how) ?? []), shown]);
      continue;
    }
    const what = isNew ? `${shown} is a new repository` : `the repository ${shown} has other settings or hooks`;
    const program = /^\.(?:hg|jj)$/u.exec(path.posix.basename(place))?.[0].slice(1) ?? 'git';
    lines.push(starts === null ? what : `${what}: ${program} in ${printableLine(repository, 200)} starts ${starts}`);
  }
  return [...lines, ...[...files].map(([how, places]) => `${listed(places, MOST_FILES)} ${places.length === 1 ? 'is' : 'are'} ${how}`)];
}

function listed(all: readonly string[], most: number): string {
  const left = all.length - most;
  return `${all.slice(0, most).join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
}

const REPOSITORY = /^\.(?:git|hg|jj)$/iu;
const PACKAGES = /(?:^|\/)(?:node_modules|\.venv|venv|site-packages|target|\.yarn\/cache)(?:\/|$)/u;

/** Of files, by their names from the project down; null: nothing starts from it by itself. The first that fits. */
function startsBy(place: string): string | null {
  if (place.endsWith('/')) return UNLISTED;
  const plain = place.toLowerCase();
  return FILES.find(({ test }) => test.test(plain))?.starts ?? (LINKS.test(place) ? LINKED : null);
}

const ACTIVATE = /(?:^|\/)\.?venv\/bin\/activate[^/]*$/iu;
const MANIFEST = /(?:^|\/)package\.json$/iu;
const MOST_MANIFESTS = 1000;
/** Folders from which programs start something: a link may have their name. */
const LINKS =
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

/** null: it names no program. */
async function fileDigest(file: string): Promise<string | null> {
  const stats = await stat(file).catch(() => null); // of a link, what it leads to
  if (stats === null || !stats.isFile()) return `${stats?.mode} ${stats?.ino} ${stats?.ctimeMs}`;
  const text = plainText(file);
  const named = NAMED_IN.get(path.basename(file).toLowerCase())?.(text);
  return named === '' ? null : hashed([named ?? text]);
}

/** What it leads to, and the files by which programs would be started through it. */
async function linkDigest(root: string, link: string): Promise<string | null> {
  const target = await realpath(path.join(root, link)).catch(() => null);
  const parts = [target ?? ''];
  const look = async (folder: string, depth: number): Promise<void> => {
    const entries = await readdir(path.join(root, folder), { withFileTypes: true }).catch(() => []); // gone, or not to be listed
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

/** Of a manifest only what names programs: every install changes the rest. */
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
  const manifest = parsed(json);
  if (manifest === null) return json; // not a manifest, yet or any more
  const values = keys.map((key) => manifest[key] ?? null);
  return values.every((value) => value === null) ? '' : JSON.stringify(values);
}

function parsed(json: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // whoever asked takes it as it is
  }
}

function scriptsOf(text: string): string {
  const manifest = parsed(text);
  if (manifest === null) return text; // not a manifest, yet or any more
  return JSON.stringify([...PROGRAMS.map((key) => manifest[key] ?? null), packagesFromElsewhere(manifest)]);
}

const PROGRAMS = 'scripts packageManager devEngines husky lint-staged simple-git-hooks gitHooks pnpm workspaces gypfile'.split(' ');

/** Packages that come from no registry: a folder, an archive, a repository. */
function packagesFromElsewhere(manifest: Readonly<Record<string, unknown>>): readonly (readonly [string, string])[] {
  return 'dependencies devDependencies optionalDependencies peerDependencies overrides resolutions'.split(' ').flatMap((kind) =>
    Object.entries(manifest[kind] ?? {}).flatMap(([name, version]: [string, unknown]) => {
      const text = typeof version === 'string' ? version : JSON.stringify(version);
      return /[:/]/u.test(text) && !/^(?:npm|workspace|catalog):[^/]*$/u.test(text) ? [[name, text] as const] : [];
    }),
  );
}

/** Relative to the project. */
async function foldersNamedBy(root: string, place: string): Promise<readonly string[]> {
  const manifest = parsed(plainText(path.join(root, place)));
  if (manifest === null) return [];
  const { workspaces } = manifest as { readonly workspaces?: unknown };
  const listed = Array.isArray(workspaces)
    ? workspaces
    : ((workspaces as { readonly packages?: unknown } | null | undefined)?.packages ?? []);
  const files = packagesFromElsewhere(manifest).map(([, version]) => version.replace(/^(?:file|link|portal):/u, ''));
  const patterns = [...(Array.isArray(listed) ? listed : []), ...files].map(String).slice(0, MOST_LINKED);
  const base = path.posix.dirname(place);
  return (await Promise.all(patterns.map((pattern) => expanded(root, base, pattern.split('/'))))).flat();
}

/** A pattern as workspaces are named: `packages/*`, `packages/**`. */
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

/** Of settings and hooks: whatever git, Mercurial or Jujutsu would start from there. */
async function repositoryDigest(place: string): Promise<string> {
  const folder = (await repositoryFolder(place)) ?? place;
  const parts: string[] = [folder];
  for (const name of SETTINGS) parts.push(name, settingsIn(folder, name));
  for (const name of await hooksOf(folder)) parts.push(name, (await fileDigest(path.join(folder, 'hooks', name))) ?? '');
  parts.push(...rebaseOf(folder));
  if (path.basename(place) === '.git')
    for (const file of namedBySettings(folder, path.dirname(place))) parts.push(file, (await fileDigest(file)) ?? '');
  return hashed(parts);
}

/** Files below the working tree with the names that stand in settings: a program may have been absent, and come. */
function namedBySettings(folder: string, tree: string): readonly string[] {
  const values = ['config', 'config.worktree'].flatMap((name) => plainText(path.join(folder, name)).match(/(?<==).+$/gmu) ?? []);
  const names = values.flatMap((value) => value.split(/[\s"'!;|&()]+/u)).filter((word) => /[/.]/u.test(word) && !word.startsWith('~'));
  const files = names.slice(0, MOST_WORDS).map((word) => path.resolve(tree, word));
  return files.filter((file) => isInside(file, tree) && statSync(file, { throwIfNoEntry: false })?.isFile() === true);
}

const MOST_WORDS = 1000;

/** Where it is absent, and a `commondir` that names its own folder: nothing. */
function settingsIn(folder: string, name: string): string {
  const text = plainText(path.join(folder, name));
  return name === 'commondir' && text.trim() === '.' ? '' : text;
}

const SETTINGS = [
  'config',
  'config.worktree',
  'commondir',
  'hgrc',
  'hgrc-not-shared',
  'sharedpath',
  'repo/config.toml',
  'workspace-config.toml',
];

async function repositoryFolder(place: string): Promise<string | null> {
  const stats = await lstat(place).catch(() => null);
  if (stats?.isFile() === true) return namedBy(place);
  return stats === null ? null : realpath(place).catch(() => null); // a link may lead anywhere
}

async function hooksOf(folder: string): Promise<readonly string[]> {
  const names = await readdir(path.join(folder, 'hooks')).catch((error: unknown) => (isForbidden(error) ? HOOKS : []));
  const found = await Promise.all(
    names.map(async (name) => ((await lstat(path.join(folder, 'hooks', name)).catch(() => null)) ? [name] : [])),
  );
  return found
    .flat()
    .filter((name) => !name.endsWith('.sample'))
    .sort();
}

const HOOKS = (
  'applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout ' +
  'post-merge pre-push post-rewrite pre-auto-gc reference-transaction post-index-change fsmonitor-watchman sendemail-validate'
).split(' ');

/** What a rebase that has stopped runs when it goes on. */
function rebaseOf(folder: string): readonly string[] {
  const todo = plainText(path.join(folder, 'rebase-merge', 'git-rebase-todo'));
  if (isTooLarge(todo)) return [todo];
  return todo.split('\n').filter((line) => /^\s*(?:x|exec)\s/u.test(line));
}

/** Of all files of a kind, and of all that a repository starts. */
const MOST_FILES = 50;
const MOST_STARTED = 8;
const MOST_FIRST = 30;

async function startsOf(place: string, signal: AbortSignal): Promise<string | null> {
  const folder = await repositoryFolder(place);
  if (folder === null) return null;
  const common = settingsIn(folder, 'commondir').trim() || '.';
  const files = ['config', 'config.worktree', ...(common === '.' ? [] : [path.join(common, 'config')])];
  const settings = (await Promise.all(files.map((name) => listedSettings(path.resolve(folder, name), signal)))).flat();
  const harmful = settings.filter(({ key, value }) => !isHarmless(key, value));
  const last = harmful.filter(({ key }, at) => !key.startsWith('core.') || !harmful.slice(at + 1).some((later) => later.key === key));
  const all = [
    ...files
      .filter((name) => isTooLarge(plainText(path.resolve(folder, name))))
      .map((name) => `what ${name} says, which is too large to be read`),
    ...last.map(({ key, value }) => `${key}=${value}`),
    ...(common === '.' ? [] : [`commondir=${common}`]),
    ...(await hooksOf(folder)).map((name) => `the hook ${name}`),
    ...rebaseOf(folder).map(
      (line) => `at \`git rebase --continue\`: ${isTooLarge(line) ? 'a list that is too large to be read' : line.trim()}`,
    ),
    ...(await otherSettings(folder)),
  ];
  if (all.length === 0) return null;
  const first = all.filter((each) => BY_ITSELF.test(each)).sort((a, b) => Number(HOOK.test(a)) - Number(HOOK.test(b)));
  const rest = all.filter((each) => !BY_ITSELF.test(each));
  const shown = [...first, ...rest].map((each) => shortened(each));
  return listed(shown, Math.max(MOST_STARTED, Math.min(first.length, MOST_FIRST)));
}

const HOOK = /^the hook /u;
/** What needs no more than `git status` or a commit: named first, however many others there are. */
const BY_ITSELF =
  /^(?:core\.(?:fsmonitor|hookspath|pager|editor|sshcommand)=|the hook |commondir=|what |at `git rebase|include(?:if\..*)?\.path=)/u;

/** The beginning and the end of what could be hidden behind many blanks. */
function shortened(text: string): string {
  const line = printableLine(text.replaceAll(/[\s\u115f\u1160\u2800\u3164\uffa0]+/gu, ' '));
  const left = line.length - LONGEST_SHOWN;
  return left <= 0 ? line : `${line.slice(0, LONGEST_SHOWN / 2)} … ${left} characters … ${line.slice(-LONGEST_SHOWN / 2)}`;
}

const LONGEST_SHOWN = 160;

/** Mercurial and Jujutsu have a program in nearly each of their settings. */
async function otherSettings(folder: string): Promise<readonly string[]> {
  const present = await Promise.all(
    SETTINGS.slice(3).map(async (name) => ((await lstat(path.join(folder, name)).catch(() => null)) === null ? [] : [`what ${name} says`])),
  );
  return present.flat();
}

function hashed(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('base64url');
}
