import { existsSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { packageRoot } from '../../host/package-version.ts';
import { commandName, npmPrefix } from '../command-name.ts';

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
    "skipLibCheck": true
  },
  "include": ["sandbox/extensions", "test"]
}
`;
