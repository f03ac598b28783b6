import { existsSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { packageRoot } from '../../kernel/index.ts';

export interface NewProject {
  /** What is missing beside the sandbox so that npm and editors find Pith, by path in the project. */
  readonly files: ReadonlyMap<string, string>;
  /** What must be run there once before `command` works; null: nothing. */
  readonly install: string | null;
  /** How Pith is started there. */
  readonly command: string;
}

/** The project around a new sandbox. What exists already is left as it is; Pith's own project needs nothing. */
export function newProject(project: string, installation = packageRoot()): NewProject {
  if (npmPrefix(project) === installation) return { files: new Map(), install: null, command: commandName(project, installation) };
  const hasPackage = existsSync(join(project, 'package.json'));
  const missing = [
    ...(hasPackage
      ? []
      : ([
          ['package.json', packageText(project, installation)],
          ['.gitignore', 'node_modules/\n'],
        ] as const)),
    ['tsconfig.json', TSCONFIG] as const,
  ].filter(([path]) => !existsSync(join(project, path)));
  const ready = existsSync(join(project, 'node_modules', '.bin', 'pith'));
  const install = ready ? null : hasPackage ? `npm install ${installation}` : 'npm install';
  return { files: new Map(missing), install, command: 'npx pith' };
}

/** How a person who stands in `folder` starts Pith: `npx pith` where npm finds it, else by the path of the program. */
export function commandName(folder: string, installation = packageRoot()): string {
  const prefix = npmPrefix(folder);
  if (prefix !== null && (prefix === installation || existsSync(join(prefix, 'node_modules', '.bin', 'pith')))) return 'npx pith';
  const program = join(installation, 'bin', 'pith');
  const way = relative(folder, program);
  const path = way.length < program.length ? way : program;
  return `node ${/[^\w./~@+-]/u.test(path) ? `'${path}'` : path}`;
}

/** The folder that npm works in from here: the nearest upwards with a package.json or installed packages. */
function npmPrefix(folder: string): string | null {
  if (existsSync(join(folder, 'package.json')) || existsSync(join(folder, 'node_modules'))) return folder;
  const parent = dirname(folder);
  return parent === folder ? null : npmPrefix(parent);
}

function packageText(project: string, installation: string): string {
  const name = basename(project)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/gu, '-')
    .replaceAll(/^-+|-+$/gu, '');
  const near = relative(project, installation);
  const place = near.length < installation.length ? near : installation;
  return `${JSON.stringify(
    {
      name: name === '' || name === 'pith' ? 'my-pith-project' : name,
      private: true,
      type: 'module',
      dependencies: { pith: `file:${place}` },
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
    "paths": {
      "@pith/*": ["./node_modules/pith/dist/packages/*.d.ts"],
      "pith/*": ["./sandbox/extensions/*/contract.ts", "./node_modules/pith/sandbox/extensions/*/contract.ts"]
    }
  },
  "include": ["sandbox/extensions", "test"]
}
`;
