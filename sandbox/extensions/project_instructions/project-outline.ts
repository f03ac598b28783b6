import path from 'node:path';
import { fieldsOf, jsonOf } from '@pith/plain-data';
import { printableLine } from '@pith/plain-text';
import { listFiles } from '@pith/project-files';
import { Jail, readRange } from '@pith/safe-files';

const MOST_BYTES = 256 * 1024;
const MOST_FOLDERS = 20;
const MOST_LISTED = 20_000;

/** A kind of project by a file in its root: the commands that people of such projects run. */
interface Kind {
  readonly file: string;
  commands(text: string, has: (name: string) => boolean): readonly string[];
}

const SCRIPTS = ['build', 'dev', 'start', 'test', 'lint', 'typecheck', 'format', 'check'];
const KINDS: readonly Kind[] = [
  {
    file: 'package.json',
    commands(text, has) {
      const manager = has('pnpm-lock.yaml') ? 'pnpm' : has('yarn.lock') ? 'yarn' : has('bun.lock') ? 'bun' : 'npm';
      const scripts = fieldsOf(fieldsOf(jsonOf(text))['scripts']);
      const run = (name: string): string => (name === 'test' && manager !== 'bun' ? `${manager} test` : `${manager} run ${name}`);
      return [`${manager} install`, ...SCRIPTS.filter((name) => typeof scripts[name] === 'string').map(run)];
    },
  },
  {
    file: 'pyproject.toml',
    commands(text, has) {
      const runner = has('uv.lock') ? 'uv run ' : has('poetry.lock') ? 'poetry run ' : '';
      const install = has('uv.lock') ? 'uv sync' : has('poetry.lock') ? 'poetry install' : 'pip install -e .';
      const tools = [
        ['pytest', 'pytest'],
        ['ruff', 'ruff check'],
        ['mypy', 'mypy .'],
      ] as const;
      return [install, ...tools.filter(([name]) => text.includes(name)).map(([, command]) => `${runner}${command}`)];
    },
  },
  { file: 'Cargo.toml', commands: () => ['cargo build', 'cargo test', 'cargo clippy', 'cargo fmt'] },
  { file: 'go.mod', commands: () => ['go build ./...', 'go test ./...', 'go vet ./...'] },
  { file: 'pom.xml', commands: () => ['mvn verify'] },
  { file: 'build.gradle', commands: (_, has) => [`${has('gradlew') ? './gradlew' : 'gradle'} build`] },
  { file: 'build.gradle.kts', commands: (_, has) => [`${has('gradlew') ? './gradlew' : 'gradle'} build`] },
  {
    file: 'Makefile',
    commands: (text) => [...text.matchAll(/^([a-z][\w-]*):(?!=)/gmu)].slice(0, 10).map(([, target]) => `make ${target}`),
  },
];

/** AGENTS.md as far as the files of a project say it without anybody who understands them. */
export async function outlineOf(project: string, signal: AbortSignal): Promise<string> {
  const jail = new Jail(project);
  const { paths } = await listFiles(jail, { most: MOST_LISTED }, signal);
  const names = new Set(paths.filter((name) => !name.includes('/')));
  const found = KINDS.filter(({ file }) => names.has(file));
  const textOf = async (file: string) =>
    String(await jail.read([file], (handle, size) => readRange(handle, 0, Math.min(size, MOST_BYTES)), { linked: true }));
  const commands = await Promise.all(found.map(async ({ file, commands: of }) => of(await textOf(file), (name) => names.has(name))));
  const folders = new Set(paths.flatMap((name) => (name.includes('/') && !name.startsWith('.') ? [name.slice(0, name.indexOf('/'))] : [])));
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ['', `## ${title}`, '', ...lines.map((line) => `- ${line}`)];
  return [
    `# Working on ${printableLine(path.basename(project))}`,
    ...section(
      'Commands',
      commands.flat().map((command) => `\`${printableLine(command)}\``),
    ),
    ...section(
      'Folders',
      [...folders]
        .sort()
        .slice(0, MOST_FOLDERS)
        .map((name) => `\`${printableLine(name)}/\`: `),
    ),
    ...section('Conventions', ['']),
    '',
  ].join('\n');
}
