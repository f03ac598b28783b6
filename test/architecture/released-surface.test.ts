import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { EmptyProject } from '../../scripts/release/empty-project.ts';
import { isAllowed } from '../../scripts/release/installed-packages.ts';
import { exportedTypes } from '../../scripts/release/exported-types.ts';
import { packageContents } from '../../scripts/release/package-contents.ts';
import { countOf, failed, Report, within } from '../../scripts/release/report.ts';
import { fileOfList, readList, releaseOf } from '../../scripts/release/surface.ts';
import { listProblems, parseList, printList, releasedList, updatedList } from '../../scripts/release/surface-list.ts';
import * as use from '../../scripts/release/use-package.ts';
import { read, ROOT } from './repository.ts';

const RELEASED = releasedList('0.1.0', ['pith run: run(): void', 'pith Tool.name: name: string', 'pith Tool: interface Tool { }']);
const NOW = { version: '0.1.0', changelog: '' };
const UPDATE = 'if that is meant, run: npm run surface:update';

/** What a package with these declarations exports. */
function typesOf(files: Readonly<Record<string, string>>): readonly string[] {
  const root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'pith-types-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const exports = { '.': { types: './dist/index.d.ts' }, './*': { source: './sandbox/extensions/*/contract.ts' } };
  mkdirSync(path.join(root, 'sandbox/extensions/bare'), { recursive: true });
  for (const [name, text] of Object.entries({ 'package.json': JSON.stringify({ type: 'module', exports }), ...files })) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return exportedTypes(root);
}

describe('what people use of the package', () => {
  it('U50 the list of exported types is what the package exports', () => {
    const list = readList(ROOT, 'types');
    expect(listProblems(list, exportedTypes(ROOT), releaseOf(ROOT, list.released)), fileOfList('types')).toEqual([]);
  });

  it('U50 each export and each member is a line, and types that exports are made of; comments and what stands behind are none', () => {
    const files = {
      'dist/index.d.ts': `export type { Tool } from './own/tool.js';\nexport * from './own/run.js';\n`,
      'dist/own/tool.d.ts': `import type { Hidden } from '../kernel/hidden.js';
        /** Text. */ export interface Tool { readonly name: string; run(part: Part): Hidden; new (): Tool; (): void; [key: string]: unknown }
        export interface Part { a?: number }`,
      'dist/own/run.d.ts': `export declare function run(): void;\nexport declare class Case { constructor(name: string); end(): void }`,
      'dist/kernel/hidden.d.ts': 'export interface Hidden { secret: true }',
    };
    expect(typesOf(files)).toEqual([
      'pith (Part).a: a?: number;',
      'pith (Part): export interface Part { }',
      'pith Case.end: end(): void;',
      'pith Case.new: constructor(name: string);',
      'pith Case: export declare class Case { }',
      'pith Tool.(): (): void;',
      'pith Tool.[]: [key: string]: unknown;',
      'pith Tool.name: readonly name: string;',
      'pith Tool.new: new (): Tool;',
      'pith Tool.run: run(part: Part): Hidden;',
      'pith Tool: export interface Tool { }',
      'pith run: export declare function run(): void;',
    ]);
  });

  it('U50 so are those of the contracts of extensions, which ship as sources: a function without what it does', () => {
    const files = {
      'dist/index.d.ts': 'export interface Tool { name: string }',
      'sandbox/extensions/tea/contract.ts': `import type { Tool } from 'pith';
        interface Pot { readonly tool: Tool }
        export const POTS = 3;
        export async function pour(pot: Pot): Promise<Tool> { return pot.tool; }`,
      'sandbox/extensions/tea/main.ts': 'export const hidden = 1;',
    };
    expect(typesOf(files).filter((line) => !line.startsWith('pith Tool'))).toEqual([
      'pith/tea (Pot).tool: readonly tool: Tool;',
      'pith/tea (Pot): interface Pot { }',
      'pith/tea POTS: POTS = 3',
      'pith/tea pour: export async function pour(pot: Pot): Promise<Tool>;',
    ]);
  });

  it('U50 code is listed by folder and kind, all else by its path', () => {
    const build = 'dist/0123456789abcdef';
    const paths = ['README.md', `${build}/main.mjs`, `${build}/chunks/a.mjs`, `${build}/chunks/b.mjs`, `${build}/types/core/a.d.ts`];
    const web = ['manifest.yaml', 'contract.ts', 'main.ts', 'pages/page.ts', 'notes.txt'].map((name) => `sandbox/extensions/web/${name}`);
    expect(packageContents([...paths, ...web])).toEqual([
      'README.md',
      'dist/<build>/chunks/**/*.mjs',
      'dist/<build>/main.mjs',
      'dist/<build>/types/**/*.d.ts',
      'sandbox/extensions/web/**/*.ts',
      'sandbox/extensions/web/**/*.txt',
      'sandbox/extensions/web/contract.ts',
      'sandbox/extensions/web/manifest.yaml',
    ]);
  });

  it('U50 what is new or changed fails until the list has it', () => {
    const now = ['pith run: run(): number', 'pith stop: stop(): void', 'pith Tool.name: name: string', 'pith Tool: interface Tool { }'];
    expect(listProblems(RELEASED, now, NOW)).toEqual([
      `'pith run: run(): number' is new, and the list does not say so; ${UPDATE}`,
      `'pith run: run(): void' is gone, and the list does not say so; ${UPDATE}`,
      `'pith stop: stop(): void' is new, and the list does not say so; ${UPDATE}`,
      "CHANGELOG.md does not have `run`, which is changed since 0.1.0; add it under 'Changed' of what is unreleased",
    ]);
    const updated = updatedList(RELEASED, now);
    expect(listProblems(updated, now, { ...NOW, changelog: '`run`' })).toEqual([]);
    expect(parseList(printList(updated))).toEqual(updated);
  });

  it('U50 what was added since the release may go again', () => {
    const more = updatedList(RELEASED, [...RELEASED.lines.map((line) => line.slice(1)), 'pith stop: stop(): void']);
    const now = RELEASED.lines.map((line) => line.slice(1));
    expect(listProblems(updatedList(more, now), now, NOW)).toEqual([]);
    expect(listProblems(more, now, NOW)).toHaveLength(1);
  });

  it('U50 a removal needs a new version and a line in the changelog, also where the list says that it is gone', () => {
    const now = ['pith run: run(): void'];
    const updated = updatedList(RELEASED, now);
    expect(listProblems(updated, now, NOW)).toEqual([
      "'pith Tool' is gone since 0.1.0: a removal needs version 0.2.0 in package.json, which has 0.1.0",
      "CHANGELOG.md does not have `Tool`, which is gone since 0.1.0; add it under 'Removed' of what is unreleased",
    ]);
    expect(listProblems(updated, now, { version: '0.2.0', changelog: '### Removed\n\n- `Tool`' })).toEqual([]);
    expect(listProblems(updated, now, { version: '0.2.0', changelog: '`ToolGuard`, `Tool.name`' })).toHaveLength(1);
    expect(listProblems(updated, now, { version: '0.1.9', changelog: '`Tool`' })).toHaveLength(1);
    const stable = { ...updated, released: '1.2.0' };
    expect(listProblems(stable, now, { version: '1.3.0', changelog: '`Tool`' })).toHaveLength(1);
    expect(listProblems(stable, now, { version: '2.0.0', changelog: '`Tool`' })).toEqual([]);
  });

  it('U50 an overload that is gone is a removal, one that is changed is a change', () => {
    const released = releasedList('0.1.0', ['pith run: run(): void', 'pith run: run(one: string): void']);
    const problems = (...now: string[]) => listProblems(updatedList(released, now), now, NOW).map((problem) => problem.split(';')[0]);
    expect(problems('pith run: run(): void')).toEqual([
      "'pith run' is gone since 0.1.0: a removal needs version 0.2.0 in package.json, which has 0.1.0",
      'CHANGELOG.md does not have `run`, which is gone since 0.1.0',
    ]);
    expect(problems('pith run: run(): void', 'pith run: run(one: number): void')).toEqual([
      'CHANGELOG.md does not have `run`, which is changed since 0.1.0',
    ]);
    expect(problems('pith run: run(): void', 'pith run: run(one: string): void', 'pith run: run(one: number): void')).toEqual([]);
  });

  it('U41 the changelog has what is unreleased and the version of the lists', () => {
    const text = read('CHANGELOG.md');
    expect(text).toContain('\n## [Unreleased]\n');
    for (const name of ['types', 'contents'] as const) expect(text).toContain(`\n## [${readList(ROOT, name).released}]`);
  });

  it('U41 one of several offered licences is enough, of several required ones each must be allowed', () => {
    expect(['MIT', '(MIT OR GPL-3.0)', 'Apache-2.0 AND MIT'].map(isAllowed)).toEqual([true, true, true]);
    expect(['', 'GPL-3.0', 'MIT AND GPL-3.0', 'SEE LICENSE IN LICENSE'].map(isAllowed)).toEqual([false, false, false, false]);
  });
});

describe('the check before a release', () => {
  /** A project in which Pith 0.1.0 is installed with nothing else, whose programs print `printed`. */
  function projectThat(printed: string): EmptyProject {
    const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'pith-empty-')));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const installed = path.join(folder, 'node_modules/pith');
    mkdirSync(path.join(installed, 'dist/contracts'), { recursive: true });
    writeFileSync(path.join(installed, 'package.json'), '{ "version": "0.1.0", "exports": {} }');
    const nothing = async () => undefined;
    return { folder, installed, npm: nothing, node: async () => printed, write: nothing, [Symbol.asyncDispose]: nothing };
  }

  it('U41 U50 counts what failed, what found nothing and what was not tried, and ends without success where one failed', async () => {
    let printed = '';
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((printed += String(text)), true));
    onTestFinished(() => void vi.restoreAllMocks());
    const report = new Report();
    expect(await report.check('good', async () => 'seen')).toBe(true);
    report.skip('Node 24', 'set PITH_NODE_24 to its program');
    expect(report.end()).toBe(true);
    expect(await report.check('wrong', async () => Promise.reject(failed('it is wrong', 'correct it')))).toBe(false);
    expect(await report.check('empty', async () => '')).toBe(false);
    expect(report.end()).toBe(false);
    expect(printed.split('\n').slice(0, -1)).toEqual([
      'ok good: seen',
      'not tried Node 24: set PITH_NODE_24 to its program',
      '1 passed, 0 failed, 1 not tried',
      'FAILED wrong: it is wrong; correct it',
      'FAILED empty: it found nothing that it could check; see scripts/release-check.ts',
      '1 passed, 2 failed, 1 not tried',
    ]);
  });

  it.each([
    ['the version is another', (project: EmptyProject) => use.printVersion(project, 'node'), '0.2.0', "it printed '0.2.0' and is 0.1.0"],
    ['a chat quotes no skill', (project: EmptyProject) => use.chat(project, 'node', true), 'hello', 'does not quote the skill'],
    [
      'a program does one job of two',
      (project: EmptyProject) => use.embed(project, 'node', { root: ROOT, isOffline: true }),
      '{"status":"done"} "Goods "',
      'the jobs are not done',
    ],
    ['init says no way to a test', (project: EmptyProject) => use.makeProject(project, 'node', '.'), 'made', 'does not say how its test'],
    ['types do not compile', (project: EmptyProject) => use.compileTypes(project, 'node16'), 'error TS2304', 'error TS2304'],
  ])('U41 U50 fails where %s', async (_, check, printed, message) => {
    await expect(check(projectThat(printed))).rejects.toThrow(message);
  });

  it('U41 U50 finds nothing in a package without entries, packages or size', async () => {
    const project = projectThat('');
    expect(await use.importEntries(project, 'node')).toBe('');
    expect(await use.compileTypes(project, 'node16')).toBe('');
    expect([countOf(0, 'packages'), countOf(2, 'packages')]).toEqual(['', '2 packages']);
    expect(() => within(0, 1)).toThrow('there is nothing');
    expect(() => within(2_000_000, 1)).toThrow('2.0 MB are more than 1 MB');
    expect(within(500_000, 1)).toBe('0.5 MB');
  });
});
