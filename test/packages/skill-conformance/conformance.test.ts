import { execFile } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { CommandContext } from 'pith';
import { captureCommand, parseCommandInput } from '@pith/command-line';
import { systemClock } from '@pith/promises';
import { describe, expect, it } from 'vitest';
import { type Case, checkLoader, conformanceCases, type LoaderCheck, type Result, runLoader } from '@pith/skill-conformance';
import lintCommands from '../../../sandbox/extensions/skill_lint/commands.ts';
import commands from '../../../sandbox/extensions/skill_registry/commands.ts';
import { isAlive } from '../../core/process/hosts.ts';
import { logTo } from '../../extensions/skill_registry/skill-sandbox.ts';
import { folderWith } from '../../places.ts';
import { until } from '../../waiting.ts';
import { words } from '../../words.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const PITH = path.join(ROOT, 'bin/pith');
const CASES = path.join(ROOT, 'packages/skill-conformance/cases');
const cases = await conformanceCases();

type Loader = Partial<Pick<LoaderCheck, 'map' | 'key'>> & { readonly only?: readonly string[]; readonly timeoutMs?: number };

/** Runs a small program on the cases of those ids. `skills` is its list of folders, each with the text of its SKILL.md. */
function checked(program: string, { only = ['file-plain'], timeoutMs = 10_000, ...reading }: Loader = {}): Promise<readonly Result[]> {
  const folder = folderWith({
    'loader.mjs': `import fs from 'node:fs';
import path from 'node:path';
const dir = process.argv[2];
const skills = fs.readdirSync(dir).sort().map((id) => ({ id, path: path.join(dir, id), get text() { return fs.readFileSync(path.join(dir, id, 'SKILL.md'), 'utf8'); } }));
const descriptionOf = (text) => /^description: (.*)$/m.exec(text)?.[1] ?? null;
${program}`,
  });
  const argv = [process.execPath, path.join(folder, 'loader.mjs')];
  const chosen = cases.filter(({ id }) => only.includes(id));
  expect(chosen).toHaveLength(only.length);
  const run = (root: string) => runLoader({ argv, cwd: folder, timeoutMs }, root);
  return checkLoader({ run, ...reading, cases: chosen, jobs: 1 });
}

/** What `checkLoader` makes of our own commands, run in this process and without a kernel: 'S1 S4 our own, as a process' has both. */
function ours(command: string, options: Readonly<Record<string, boolean>>, chosen: readonly Case[]): Promise<readonly Result[]> {
  const run = async (root: string) => {
    const input = { options, arguments: { path: path.join(root, 'skills') } };
    const asked = captureCommand({ getCommands: () => commands(contextOf(root)) }, command, input, new AbortController().signal);
    const stdout = JSON.stringify((await asked).values.at(-1) ?? null);
    return { end: 'ended', code: 0, signal: null, stdout, stderr: '', ms: 0 } as const;
  };
  return checkLoader({ run, cases: chosen, jobs: 1 });
}

/** What the kernel gives the commands of the registry, as far as they ask, in a trusted sandbox that is all there is. */
function contextOf(sandbox: string): CommandContext {
  const places = { sandbox, project: sandbox, home: null, shippedSandbox: sandbox, untrustedSandbox: null, projectFiles: [], serve: null };
  const dataDirectory = path.join(sandbox, 'data/extensions/skill_registry');
  const context = { config: {}, dataDirectory, clock: systemClock, logger: logTo([]), use: () => places };
  return context as unknown as CommandContext;
}

const marks = (results: readonly Result[]) =>
  results.map(({ case: { id }, outcome, specification, lenient }) => ({ id, outcome, specification, lenient }));

describe('the table of odd skills', () => {
  it('S4 has at least 60 cases, each with an id of its own, files, and a reason that is a sentence', () => {
    expect(cases.length).toBeGreaterThanOrEqual(60);
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
    expect(cases.filter(({ files }) => Object.keys(files).length === 0)).toEqual([]);
    expect(cases.filter(({ why }) => !/^[\p{Lu}_].*\.$/su.test(why)).map(({ id }) => id)).toEqual([]);
    expect(
      cases.filter(
        ({ never, expect: { specification, lenient }, neighbours }) =>
          never.length + neighbours.length === 0 && specification === 'open' && lenient === 'open',
      ),
    ).toEqual([]);
  });

  it('S4 is every file of cases, and a slip in one is told with its place and its cure', async () => {
    const texts = readdirSync(CASES).map((name) => readFileSync(path.join(CASES, name), 'utf8'));
    expect(texts.join('').match(/^ {2}- id: /gm)).toHaveLength(cases.length);
    const folder = folderWith();
    cpSync(CASES, folder, { recursive: true });
    const file = path.join(folder, 'yaml.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('lenient: loads', 'lenient: lods'));
    await expect(conformanceCases(folder)).rejects.toMatchObject({
      code: 'cases_invalid',
      message: `the odd skills in ${file}:4: 'YAML[0].expect.lenient' must be loads, refuses or open, not 'lods' (did you mean 'loads'?)`,
      cure: 'correct the value',
    });
    rmSync(file);
    await expect(conformanceCases(folder)).rejects.toMatchObject({ code: 'cases_invalid', message: expect.stringContaining(file) });
  });

  it('S1 S4 S5 our own loader does what lenient loading does with each of them', async () => {
    const results = await ours('skills list', { all: true }, cases);
    const wrong = results.filter(({ lenient }) => lenient === 'wrong');
    expect(wrong.map(({ case: { id }, outcome, notes }) => ({ id, outcome, notes }))).toEqual([]);
    expect(results.filter(({ lenient }) => lenient === 'right').length).toBeGreaterThan(100);
  });

  it('S4 no more loaders run at a time than there are cases', async () => {
    const run = async () => ({ end: 'ended', code: 0, signal: null, stdout: '[]', stderr: '', ms: 0 }) as const;
    expect(await checkLoader({ run, cases: cases.slice(0, 1), jobs: 1e9 })).toHaveLength(1);
  });

  it('S4 S81 our own validator differs from the specification in what the page says, and in nothing else', async () => {
    const checked = cases.filter((one) => one.expect.specification !== 'open');
    const results = await ours('skills validate', {}, checked);
    expect(results.filter(({ specification }) => specification === 'wrong').map(({ case: { id } }) => id)).toEqual([
      'file-mixed-case',
      'yaml-duplicate-key',
      'value-version',
      'field-unknown',
      'field-of-others',
      'description-missing',
      'description-empty',
      'description-blank',
      'hostile-yaml-function',
      'hostile-yaml-python',
    ]);
  });
});

describe('a loader that is bad', () => {
  it('S5 that crashes is wrong whatever the verdict is, and its last words are told', async () => {
    const [result] = await checked("throw new Error('no such thing')", { only: ['front-none'] });
    expect(result).toMatchObject({ outcome: 'crashed', specification: 'wrong', lenient: 'wrong' });
    expect(result?.notes.join()).toContain('it ended with 1 and listed nothing');
  });

  it('S5 that hangs is ended with all that it started', async () => {
    const file = path.join(folderWith(), 'pid');
    const program = `const { spawn } = await import('node:child_process');
const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
fs.writeFileSync(${JSON.stringify(file)}, String(child.pid));
setInterval(() => {}, 1000);`;
    const [result] = await checked(program, { timeoutMs: 1000 });
    expect(result).toMatchObject({ outcome: 'hung', specification: 'wrong', lenient: 'wrong', notes: ['it did not end in time'] });
    await until(() => !isAlive(Number(readFileSync(file, 'utf8'))));
  });

  it('S5 that prints nonsense, or without end, lists nothing', async () => {
    expect(marks(await checked("process.stdout.write('All is well.')"))).toMatchObject([{ outcome: 'no list', lenient: 'wrong' }]);
    const flood =
      "const text = 'x'.repeat(1 << 20); const more = () => { while (process.stdout.write(text)); }; process.stdout.on('drain', more); more();";
    expect(marks(await checked(flood))).toMatchObject([{ outcome: 'flooded', lenient: 'wrong' }]);
  });

  it('S5 that loses the good skills beside a bad one is wrong', async () => {
    const first = 'process.stdout.write(JSON.stringify(skills.slice(0, 1).map(({ id, path }) => ({ id, path }))))';
    const [result] = await checked(first, { only: ['front-list'] });
    expect(result).toMatchObject({ outcome: 'loaded', lenient: 'wrong', notes: ['it lost the good skill good beside it'] });
  });

  it('S5 that runs frontmatter, or shows a text from outside, is caught', async () => {
    const eager = `for (const { text } of skills) { const [, code] = /^---js\\n([^]*?)\\n---/.exec(text) ?? []; if (code) (0, eval)('((require) => (' + code + '))')((await import('node:module')).createRequire(import.meta.url)); }
process.stdout.write(JSON.stringify(skills.map(({ id, path, text }) => ({ id, path, description: descriptionOf(text) ?? text }))))`;
    const results = await checked(eager, { only: ['hostile-js-frontmatter', 'link-file-outside'] });
    expect(results.map(({ notes }) => notes.join('; '))).toEqual(["it shows 'token-of-somebody-else-5d1f'", 'it ran what is in the skill']);
    expect(results.map(({ specification }) => specification)).toEqual(['wrong', 'wrong']);
  });

  it('S4 that tells another description, id or version than the file has is told so', async () => {
    const wrong =
      "process.stdout.write(JSON.stringify(skills.map(({ path }) => ({ id: 'other', path, description: 'Other.', version: 1 }))))";
    const [result] = await checked(wrong, { only: ['value-version'] });
    expect(result).toMatchObject({ outcome: 'loaded', lenient: 'wrong' });
    expect(result?.notes.map((note) => note.slice(0, 14))).toEqual(['it is known as', 'its descriptio', 'its version is']);
  });
});

describe('what a loader may print', () => {
  it.each([
    ['a list of names', 'skills.map(({ id }) => id)', {}],
    ['a list under a key', '{ version: 1, skills: skills.map(({ id }) => ({ name: id })) }', {}],
    [
      'a map from names to skills',
      '{ skills: Object.fromEntries(skills.map(({ id, text }) => [id, { description: descriptionOf(text) }])) }',
      {},
    ],
    [
      'files within the root',
      'skills.map(({ id, path, text }) => ({ name: id, location: path + "/SKILL.md", description: descriptionOf(text) }))',
      {},
    ],
    [
      'other keys',
      '{ found: { all: skills.map(({ id, text }) => ({ slug: "x", s: id, meta: { text: descriptionOf(text) } })) } }',
      { key: 'found.all', map: { id: 's', description: 'meta.text' } },
    ],
    ['a description that is cut', 'skills.map(({ id, text }) => ({ id, description: descriptionOf(text).slice(0, 30) + "…" }))', {}],
  ])('S4 %s', async (_, expression, reading) => {
    const program = `process.stdout.write('A newer version is there.\\n' + JSON.stringify(${expression}))`;
    expect(marks(await checked(program, reading))).toEqual([
      { id: 'file-plain', outcome: 'loaded', specification: 'right', lenient: 'right' },
    ]);
  });

  it('S4 skills of other folders, and those that are listed as invalid, do not count', async () => {
    const elsewhere =
      "process.stdout.write(JSON.stringify([{ name: 'demo', path: '/somewhere/demo' }, { id: 'demo', path: skills[0].path, state: 'invalid' }]))";
    expect(marks(await checked(elsewhere))).toMatchObject([{ outcome: 'refused', lenient: 'wrong' }]);
  });
});

describe('the command', () => {
  const [command] = lintCommands();
  const run = (...given: string[]) =>
    captureCommand({ getCommands: lintCommands }, command!.path, parseCommandInput(command!, given), new AbortController().signal);
  const list = "const fs = require('fs'); console.log(JSON.stringify(fs.readdirSync(process.argv[1])))";

  it('S1 S4 our own, as a process', async () => {
    // One that is loaded and one that is refused: a process for each of all would take most of the time.
    const loader = [process.execPath, PITH, ...words('skills list --all --json --sandbox {root} --trust')];
    const argv = [...words('skills conformance --json --case file-plain --case file-missing --'), ...loader];
    const { stdout } = await promisify(execFile)(process.execPath, [PITH, ...argv]).catch((error: { stdout: string }) => error);
    const { totals } = JSON.parse(stdout) as { totals: { lenient: { right: number; checked: number } } };
    expect(totals.lenient).toMatchObject({ right: 2, checked: 2 });
  });

  it('S4 says what a loader makes of each case, as text and as JSON, and exits with 1 where one is wrong', async () => {
    const { exitCode, text, values } = await run('--case', 'file name', '--', process.execPath, '-e', list);
    expect(exitCode).toBe(1);
    expect(text).toMatch(/^file-missing +a folder with a README\.md only +loaded +WRONG \(refuses\) +WRONG \(refuses\)$/m);
    expect(values).toMatchObject([{ totals: { cases: 8, lenient: { checked: 8 } } }]);
  });

  it('S4 says what it cannot do with what was typed', async () => {
    await expect(run()).rejects.toMatchObject({ message: 'no command of a loader was given', cure: expect.stringContaining('after --') });
    await expect(run('--case', 'nothing', '--', 'true')).rejects.toMatchObject({ cure: '--cases prints them all' });
    await expect(run('--map', 'colour=x', '--', 'true')).rejects.toMatchObject({
      message: "wrong use of --map: 'colour=x' does not name a field of a skill",
    });
    await expect(run('--timeout', '0', '--', 'true')).rejects.toMatchObject({ message: 'wrong use of --timeout: 0 is not above 0' });
    await expect(run('--case', 'file-plain', '--', '/no/such/loader')).rejects.toMatchObject({ code: 'process_not_started' });
    expect(await run('--cases')).toMatchObject({ exitCode: 0, text: expect.stringMatching(/^security +hostile-shell /m) });
  });
});
