import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { packageRoot } from '../../declarations/index.ts';

/** A command for a person, and what it is for. */
export type Step = readonly [command: string, why: string];

export interface NewProject {
  /** The missing files beside the sandbox that npm, editors and tests need to find Pith, by path in the project. */
  readonly files: ReadonlyMap<string, string>;
  /** What must be run there once before `command` works. */
  readonly install: readonly Step[];
  /** The command that starts Pith there. */
  readonly command: string;
  /** How its first test is run, and what an existing project lacks for that. */
  readonly test: readonly Step[];
}

/** The project around a new sandbox. Existing files stay as they are; Pith's own project needs nothing. */
export function newProject(project: string, installation = packageRoot()): NewProject {
  if (npmPrefix(project) === installation) return { files: new Map(), install: [], command: commandName(project, installation), test: [] };
  const existing = packageOf(project);
  const hasConfig = existsSync(project) && readdirSync(project).some((name) => /^(?:vite|vitest)\.config\.\w+$/u.test(name));
  const vitest = packageOf(installation)?.devDependencies['vitest'] ?? 'latest';
  const missing = [
    ...(existing === null ? [['package.json', packageText(project, installation, vitest)] as const] : []),
    ...(existing === null ? [['.gitignore', 'node_modules/\n'] as const] : []),
    ['tsconfig.json', TSCONFIG] as const,
    ...(hasConfig ? [] : [['vitest.config.mjs', VITEST_CONFIG] as const]),
    [FIRST_TEST_FILE, FIRST_TEST] as const,
  ].filter(([path]) => !existsSync(join(project, path)));
  const isReady = existsSync(join(project, 'node_modules', '.bin', 'pith'));
  const install = existing === null ? 'npm install' : `npm install ${argumentOf(sourceOf(installation))}`;
  return {
    files: new Map(missing),
    install: isReady ? [] : [[install, 'once: it makes `npx pith` work here']],
    command: 'npx pith',
    test: testSteps(existing, vitest, hasConfig),
  };
}

function testSteps(existing: Package | null, vitest: string, hasConfig: boolean): readonly Step[] {
  const own = existing === null ? TEST_SCRIPT : (existing.scripts['test'] ?? '');
  const isUnset = own === '' || own.includes('no test specified'); // as npm writes it
  const hasVitest = existing === null || 'vitest' in { ...existing.dependencies, ...existing.devDependencies };
  return [
    ...(hasVitest ? [] : [[`npm install --save-dev vitest@${vitest}`, `once: it runs ${FIRST_TEST_FILE}`] as const]),
    ...(isUnset ? [[`npm pkg set scripts.test="${TEST_SCRIPT}"`, 'once: it adds the script `test` to your package.json'] as const] : []),
    ...(hasConfig ? [[`testTimeout: ${TIMEOUT}`, 'add it to `test` of your vitest configuration: first runs are slow'] as const] : []),
    [isUnset || own.includes('vitest') ? 'npm test' : `npx ${TEST_SCRIPT}`, `run the tests, of which ${FIRST_TEST_FILE} is the first`],
  ];
}

/** Begins a dependency that is a folder or a packed file. */
const FILE = 'file:';

const packageSchema = z.looseObject({
  scripts: z.record(z.string(), z.string()).catch({}).default({}),
  dependencies: z.record(z.string(), z.string()).catch({}).default({}),
  devDependencies: z.record(z.string(), z.string()).catch({}).default({}),
});
type Package = z.infer<typeof packageSchema>;

/** null: there is none. One that cannot be read says nothing. */
function packageOf(folder: string): Package | null {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return null;
  try {
    return packageSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return packageSchema.parse({}); // npm will say what is wrong with it
  }
}

/** How a person in `folder` starts Pith: `npx pith` where npm finds it, else by the program's path. */
function commandName(folder: string, installation: string): string {
  const prefix = npmPrefix(folder);
  if (prefix !== null && (prefix === installation || existsSync(join(prefix, 'node_modules', '.bin', 'pith')))) return 'npx pith';
  const program = join(installation, 'bin', 'pith');
  const way = relative(folder, program);
  const path = way.length < program.length ? way : program;
  return `node ${/[^\w./~@+-]/u.test(path) ? `'${path}'` : path}`;
}

/** The folder that npm uses from here: the nearest upwards with a package.json or installed packages. */
function npmPrefix(folder: string): string | null {
  if (existsSync(join(folder, 'package.json')) || existsSync(join(folder, 'node_modules'))) return folder;
  const parent = dirname(folder);
  return parent === folder ? null : npmPrefix(parent);
}

/** From where npm gets this Pith again: the folder of a checkout, or what the project names in which it is installed. */
function sourceOf(installation: string): string {
  const modules = dirname(installation);
  const owner = basename(modules) === 'node_modules' ? packageOf(dirname(modules)) : null;
  const source = owner?.dependencies['pith'] ?? owner?.devDependencies['pith'] ?? `file:${installation}`;
  if (!source.startsWith(FILE)) return source;
  const file = resolve(dirname(modules), source.slice(FILE.length));
  return FILE + (existsSync(file) ? file : installation);
}

/** `npm install` takes a path as it is, and all else with the name of the package. */
function argumentOf(source: string): string {
  return source.startsWith(FILE) ? source.slice(FILE.length) : `pith@${source}`;
}

/** In the project's package.json: a path is relative to it where that is shorter. */
function dependencyOf(source: string, project: string): string {
  if (!source.startsWith(FILE)) return source;
  const place = source.slice(FILE.length);
  const near = relative(project, place);
  return FILE + (near.length < place.length ? near : place);
}

function packageText(project: string, installation: string, vitest: string): string {
  const name = basename(project)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/gu, '-')
    .replaceAll(/^-+|-+$/gu, '');
  return `${JSON.stringify(
    {
      name: name === '' || name === 'pith' ? 'my-pith-project' : name,
      private: true,
      type: 'module',
      scripts: { test: TEST_SCRIPT },
      dependencies: { pith: dependencyOf(sourceOf(installation), project) },
      devDependencies: { vitest },
    },
    null,
    2,
  )}\n`;
}

/** For editors and `tsc`; Pith itself needs none. */
const TSCONFIG = `{
  "compilerOptions": {
    "target": "ES2022",
    "module": "NodeNext",
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true,
    "types": ["node"],
    "typeRoots": ["./node_modules/@types", "./node_modules/pith/node_modules/@types"],
    "paths": {
      "@pith/*": ["./node_modules/pith/dist/packages/*.d.ts"],
      "pith/*": ["./sandbox/extensions/*/contract.ts", "./node_modules/pith/sandbox/extensions/*/contract.ts"]
    }
  },
  "include": ["sandbox/extensions", "test"]
}
`;

const TEST_SCRIPT = 'vitest run';
/** The first test starts the kernel and bundles extensions: on a busy machine that takes a minute. */
const TIMEOUT = '120_000';

const VITEST_CONFIG = `/** For the tests of your sandbox, which run the real kernel: npm test */
export default {
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: ${TIMEOUT},
    hookTimeout: ${TIMEOUT},
    server: { deps: { external: [/\\/dist\\/.*\\.m?js$/] } }, // Pith is built, also where it is linked
  },
};
`;

/** An extension cannot have this name: its test takes another file. */
const FIRST_TEST_FILE = 'test/first-test.test.ts';
const FIRST_TEST = `import { expectSkillLoaded, scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';

it('greets by its skill and its tool', async () => {
  const model = scriptedModel([
    { calls: [{ name: 'read_skill', input: { skill_id: 'hello' } }] },
    { calls: [{ name: 'hello', input: { name: 'Ada' } }] },
    { text: 'Hello, Ada! Welcome to Pith. What are you working on?' },
  ]);
  // The real kernel over a copy of your sandbox; of what ships with Pith only what is named, and only the model is played.
  await using test = await testKernel({ copyOf: 'sandbox', only: ['skill_registry'], model });
  const turn = await test.run('Say hello to Ada.');
  expectSkillLoaded(turn, 'hello');
  expect(turn.results.at(-1)).toMatchObject({ name: 'hello', ok: true, output: 'Hello, Ada! Welcome to Pith.' });
});
`;
