import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from './repository.ts';

interface Report {
  readonly modules: readonly { readonly source: string; readonly dependencies: readonly { readonly resolved: string }[] }[];
  readonly summary: {
    readonly totalCruised: number;
    readonly violations: readonly { readonly from: string; readonly to: string; readonly rule: { readonly name: string } }[];
  };
}

const CRUISE = path.join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

/** What the rules say of `core`, `packages` and `sandbox/extensions` below `root`. */
async function cruise(root: string): Promise<Report> {
  const line = [CRUISE, '--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'core', 'packages', 'sandbox/extensions'];
  const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 };
  return JSON.parse((await promisify(execFile)(process.execPath, line, options)).stdout) as Report;
}

/** Folders of core that reach each other, type imports included: a folder is a layer. */
function foldersInCircles(modules: Report['modules']): readonly string[] {
  const below = new Map<string, Set<string>>();
  for (const { source, dependencies } of modules)
    for (const { resolved } of dependencies) {
      const [from, to] = [path.posix.dirname(source), path.posix.dirname(resolved)];
      const isOurs = [from, to].every((each) => each.startsWith('core/'));
      if (isOurs && from !== to) below.set(from, (below.get(from) ?? new Set()).add(to));
    }
  const reached = (from: string, seen = new Set<string>()): Set<string> => {
    for (const to of below.get(from) ?? []) if (!seen.has(to)) reached(to, seen.add(to));
    return seen;
  };
  return [...below.keys()].filter((folder) => reached(folder).has(folder)).sort();
}

/** One file for each rule that breaks it. Their names are those of no real file. */
const PLANTED: Readonly<Record<string, readonly [file: string, text: string]>> = {
  'no-side-doors': ['core/agent/planted-side-door.ts', "export * from '../kernel/innocent.ts';\n"],
  'no-cycles': ['sandbox/extensions/one/types-a.ts', "import type { B } from './types-b.ts';\nexport type A = B | 1;\n"],
  'core-without-sandbox': ['core/agent/planted.ts', "export * from '../../sandbox/extensions/one/main.ts';\n"],
  ...Object.fromEntries(
    ['contract', 'trust', 'declarations', 'kernel', 'loader', 'process', 'store', 'models', 'durable', 'agent'].map(
      (name) => [`${name}-knows-nothing-above`, [`core/${name}/planted-above.ts`, "export * from '../compose/compose.ts';\n"]] as const,
    ),
  ),
  'cli-knows-nothing-above': ['core/cli/planted-above.ts', "export * from '../testing/innocent.ts';\n"],
  'testing-knows-nothing-above': ['core/testing/planted-above.ts', "export * from '../cli/innocent.ts';\n"],
  'embed-knows-nothing-above': ['core/embed/planted-above.ts', "export * from '../testing/innocent.ts';\n"],
  'declared-packages-only': ['core/kernel/planted-undeclared.ts', "export { nanoid } from 'nanoid';\n"],
  'compose-knows-nothing-above': ['core/compose/planted-above.ts', "export * from '../cli/innocent.ts';\n"],
  'packages-know-nothing-of-pith': ['packages/one/planted.ts', "export * from '../../core/kernel/innocent.ts';\n"],
  'packages-by-their-door': ['core/kernel/planted-inside.ts', "export * from '../../packages/one/inside.ts';\n"],
  'extensions-only-know-the-contract': ['sandbox/extensions/one/planted.ts', "export * from '../../../core/kernel/innocent.ts';\n"],
  'extensions-keep-to-their-folder': ['sandbox/extensions/one/planted-too.ts', "export * from '../two/main.ts';\n"],
  'container-only-in-compose': ['core/kernel/planted-container.ts', "export { container } from 'tsyringe';\n"],
  'production-packages-only': ['core/kernel/planted-package.ts', "export { assert } from 'fast-check';\n"],
};

const INNOCENT: readonly (readonly [file: string, text: string])[] = [
  ['sandbox/extensions/one/types-b.ts', "import type { A } from './types-a.ts';\nexport type B = A | 2;\n"],
  ...[
    'core/kernel/innocent.ts',
    'core/cli/innocent.ts',
    'core/testing/innocent.ts',
    'core/compose/compose.ts',
    'packages/one/inside.ts',
  ].map((file) => [file, 'export const here = true;\n'] as const),
  ...['one', 'two'].map((id) => [`sandbox/extensions/${id}/main.ts`, 'export const here = true;\n'] as const),
];

describe('boundaries', () => {
  it('A7: no module reaches where it must not, and no files import each other, types included; take an argument instead of importing', async () => {
    const { modules, summary } = await cruise(ROOT);
    const { violations, totalCruised } = summary;
    expect(violations.map(({ from, to, rule }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
    expect(foldersInCircles(modules), 'move what both need into a lower folder').toEqual([]);
    expect(totalCruised, 'the tool saw almost nothing: its TypeScript support is broken').toBeGreaterThan(100);
  }, 120_000);

  describe('of a copy with one offence for each rule', () => {
    let copy: string;
    beforeAll(async () => {
      copy = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-boundaries-')));
      for (const file of ['package.json', 'tsconfig.json', '.dependency-cruiser.cjs'])
        await cp(path.join(ROOT, file), path.join(copy, file));
      await symlink(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
      for (const [file, text] of [...INNOCENT, ...Object.values(PLANTED)]) {
        await mkdir(path.dirname(path.join(copy, file)), { recursive: true });
        await writeFile(path.join(copy, file), text);
      }
    });
    afterAll(() => rm(copy, { recursive: true, force: true }));

    it('each rule has an offence here', () => {
      const { forbidden } = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as { forbidden: { readonly name: string }[] };
      expect(forbidden.map(({ name }) => name).sort()).toEqual(Object.keys(PLANTED).sort());
    });

    it('each rule finds its offence', async () => {
      const found = new Set((await cruise(copy)).summary.violations.map(({ from, rule }) => `${rule.name} in ${from}`));
      expect(
        Object.entries(PLANTED)
          .map(([rule, [file]]) => `${rule} in ${file}`)
          .filter((offence) => !found.has(offence)),
      ).toEqual([]);
    });
  });
});
