import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { codeOf, type CommandInput, messageOf, PithError } from '../../contract/index.ts';
import { makeFolders, systemCure } from '@pith/safe-files';
import { hasBareState, openTrustFile, trustSandbox, userHome } from '../../trust/index.ts';
import { packageRoot } from '../../declarations/index.ts';
import { type Line, quoted } from '../terminal/opened-target.ts';
import { colours } from './text.ts';

/**
 * Creates `DIR/sandbox` (or DIR, if it has that name) and the files that npm and editors need. Writes nothing when a file is in the way.
 */
export async function initSandbox({ cwd, io }: Line, input: CommandInput): Promise<void> {
  const asked = resolve(cwd, String(input.arguments['dir'] ?? '.'));
  const sandbox = basename(asked) === 'sandbox' ? asked : join(asked, 'sandbox');
  refuseFile(asked, sandbox);
  refuseOthers(sandbox);
  const files = new Map([...NEW_SANDBOX, ...(await sampleSettings())]);
  const folder = dirname(sandbox);
  const project = newProject(folder);
  try {
    for (const [path, text] of files) await write(join(sandbox, path), text);
    for (const [path, text] of project.files) await write(join(folder, path), text);
  } catch (error) {
    const absent = codeOf(error, '') === 'ENOENT'; // as in /proc: nothing can be created there
    const message = `no sandbox was made in ${asked}: ${messageOf(error)}`;
    throw new PithError('not_allowed', message, {
      cause: error,
      cure: [absent ? [] : (systemCure(error) ?? []), 'name a folder that you may write: pith init <dir>'].flat().join(', or '),
    });
  }

  const problem = recordTrust(sandbox);

  io.json({ ok: true, sandbox, files: [...files.keys()].sort(), project: [...project.files.keys()].sort() });
  const colour = colours(io);
  const shown = relative(cwd, sandbox) || '.';
  io.print(`${colour.green('✓')} Made a sandbox in ${colour.bold(shown)}`);
  if (problem !== null) io.error(`pith: it is not recorded that you trust ${sandbox}: ${problem}`);
  if (io.quiet) return;
  for (const path of [...files.keys()].sort()) io.print(colour.dim(`  ${path}`));
  for (const path of [...project.files.keys()].sort()) io.print(colour.dim(`  ${join('..', path)}`));
  const way = relative(cwd, folder);
  if (hasBareState(userHome(), folder))
    io.print(colour.dim('Conversations that you had here without a sandbox stay in ~/.pith/projects; the sandbox begins without them.'));
  const steps: readonly (readonly [string, string])[] = [
    ...(way === '' ? [] : [[`cd ${quoted(way)}`, ''] as const]),
    ...(project.install === null ? [] : [[project.install, 'once: it makes `npx pith` work here'] as const]),
    [`${project.command} chat`, 'talk to the assistant'],
    [`${project.command} doctor`, 'see what loaded'],
    [join('sandbox', 'pith.yaml'), 'connect a model, change settings'],
  ];
  const width = Math.max(...steps.map(([step]) => step.length));
  io.print(['', 'Next:', ...steps.map(([step, why]) => `  ${step.padEnd(width)}  ${why}`.trimEnd())].join('\n'));
}

/** Records that the new sandbox is the person's. Returns why that failed; they are then asked later. */
function recordTrust(sandbox: string): string | null {
  try {
    trustSandbox(openTrustFile(userHome()), sandbox);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** Refuses existing files, which would be trusted unseen, and links, which would lead the new files elsewhere. */
function refuseOthers(sandbox: string): void {
  const found = lstatSync(sandbox, { throwIfNoEntry: false });
  const why =
    found === undefined
      ? null
      : !found.isDirectory()
        ? `${sandbox} is not a folder`
        : readdirSync(sandbox).length > 0
          ? `${sandbox} is not empty`
          : null;
  if (why !== null)
    throw new PithError('usage', `no sandbox was made: ${why}`, {
      cure: 'name another folder: pith init <dir>, or look at what is there with: pith trust',
    });
}

/** Refuses a file where a folder is needed, anywhere on the path. */
function refuseFile(asked: string, sandbox: string): void {
  for (let path = sandbox; path !== dirname(path); path = dirname(path)) {
    const found = existsSync(path) ? statSync(path) : null;
    if (found?.isDirectory()) return;
    if (found) throw new PithError('usage', `no sandbox was made in ${asked}: ${path} is a file`, { cure: 'name a folder' });
  }
}

/** The sample with every setting, where the package has one. */
async function sampleSettings(): Promise<readonly (readonly [string, string])[]> {
  try {
    return [['pith.sample.yaml', await readFile(join(packageRoot(), 'sandbox', 'pith.sample.yaml'), 'utf8')]];
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT') return [];
    throw error;
  }
}

async function write(file: string, text: string): Promise<void> {
  makeFolders(dirname(file));
  await writeFile(file, text, { flag: 'wx' });
}

export interface NewProject {
  /** The missing files beside the sandbox that npm and editors need to find Pith, by path in the project. */
  readonly files: ReadonlyMap<string, string>;
  /** What must be run there once before `command` works; null: nothing. */
  readonly install: string | null;
  /** The command that starts Pith there. */
  readonly command: string;
}

/** The project around a new sandbox. Existing files stay as they are; Pith's own project needs nothing. */
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
    ...(hasVitestConfig(project) ? [] : [['vitest.config.mjs', VITEST_CONFIG] as const]),
  ].filter(([path]) => !existsSync(join(project, path)));
  const ready = existsSync(join(project, 'node_modules', '.bin', 'pith'));
  const install = ready ? null : hasPackage ? `npm install ${installation}` : 'npm install';
  return { files: new Map(missing), install, command: 'npx pith' };
}

function hasVitestConfig(project: string): boolean {
  return existsSync(project) && readdirSync(project).some((name) => /^(?:vite|vitest)\.config\.\w+$/u.test(name));
}

/** How a person in `folder` starts Pith: `npx pith` where npm finds it, else by the program's path. */
export function commandName(folder: string, installation = packageRoot()): string {
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

/** The first test that boots the kernel and its processes takes twice vitest's default timeout. */
const VITEST_CONFIG = `/** For tests of your extensions, which run the real kernel: npm install --save-dev vitest, then npx vitest run */
export default {
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    server: { deps: { external: [/\\/dist\\/.*\\.m?js$/] } }, // Pith is built, also where it is linked
  },
};
`;

/** The files of a new sandbox by path. Each is an example to read and change. */
export const NEW_SANDBOX: ReadonlyMap<string, string> = new Map([
  [
    'pith.yaml',
    `# Settings of this sandbox. A line that begins with # says what could be there.

# The agent that answers when none is named.
default_agent: assistant

# Models are named provider/model. Without any of this Pith takes what it finds: ANTHROPIC_API_KEY, OPENAI_API_KEY,
# OPENAI_BASE_URL, a local server; else the offline librarian, which answers from the skills alone.
# models:
#   default: anthropic/claude-sonnet-4-5

# skills:
#   enabled: true
#   disabled: []

# Settings of one extension, by its id.
# extensions:
#   hello_tool:
#     enabled: false
`,
  ],
  ['.gitignore', 'data/\n.staging/\n'],
  [
    'agents/assistant/manifest.yaml',
    `id: assistant
name: Assistant
version: 1.0.0
description: Answers questions and knows the skills of this sandbox.
agent:
  description: Answers questions and knows the skills of this sandbox.
  # An alias (default, fast, standard, thinking) or provider/model.
  model: default
  # Sent with every request: extension ids, extension/tool for one tool, "sandbox" for the tools of your own extensions.
  # run_skill_script must be named: it runs programs that skills bring, after asking you.
  uses_tools: [sandbox, project_tools, skill_registry, skill_scripts/run_skill_script, core_tools/todo_write, mcp, web]
  # Sent once the model has looked for them with find_tools; "*": those of every other extension.
  finds_tools: ["*"]
  # Skills whose text is always in the instructions.
  uses_skills: []
`,
  ],
  [
    'agents/assistant/prompt.jinja2',
    `You are {{ agent.name }}, a helpful assistant.

{% if tools.read_skill %}- Look at the available skills before you begin something that takes more than one step.
{% endif %}{% if tools.find_tools %}- When a skill was wrong, or lacked a step that you had to find out, say so, and offer to propose the change: get propose_skill_update with find_tools. A person decides.
{% endif %}- Say what you did, briefly, and where an answer comes from.
`,
  ],
  [
    'skills/hello/SKILL.md',
    `---
name: hello
description: How to greet somebody properly. Use when asked to greet, welcome or say hello to a person.
---

# Greeting somebody

1. Call the tool \`hello\` with the person's name.
2. Repeat its greeting word for word.
3. Ask one friendly question about what they are working on.
`,
  ],
  [
    'extensions/hello_tool/manifest.yaml',
    `id: hello_tool
name: Hello
version: 1.0.0
description: Greets a person by name.
entrypoint: main.ts
provides: [tool]
`,
  ],
  [
    'extensions/hello_tool/main.ts',
    `import { defineTool, z, type ToolProvider } from 'pith';

export default class HelloTool implements ToolProvider {
  getTools() {
    return [
      defineTool({
        name: 'hello',
        description: 'Makes a greeting for a person.',
        input: z.object({ name: z.string().min(1).meta({ description: 'Whom to greet', examples: ['Ada'] }) }),
        effect: 'read',
        execute: ({ name }) => \`Hello, \${name}! Welcome to Pith.\`,
      }),
    ];
  }
}
`,
  ],
]);
