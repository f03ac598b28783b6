import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { codeOf, type CommandInput, messageOf, PithError } from '../../contract/index.ts';
import { makeFolders, systemCure } from '@pith/safe-files';
import { hasBareState, openTrustFile, trustSandbox, userHome } from '../../trust/index.ts';
import { packageRoot } from '../../declarations/index.ts';
import { type Line, quoted } from '../terminal/opened-target.ts';
import { newProject, type Step } from './new-project.ts';
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
  const steps: readonly Step[] = [
    ...(way === '' ? [] : [[`cd ${quoted(way)}`, ''] as const]),
    ...project.install,
    [`${project.command} chat`, 'talk to the assistant'],
    [`${project.command} doctor`, 'see what loaded'],
    ...project.test,
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
