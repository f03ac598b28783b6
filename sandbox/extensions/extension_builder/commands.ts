import { type Command, type CommandContext, PithError, Places, type CommandIO } from 'pith';
import { existsSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { didYouMean } from '@pith/plain-text';
import { activeFolder, requireId, type Kind } from './places.ts';
import { writeSources, type Source } from './sources.ts';
import { agentTemplate, extensionTemplate, extensionTest, greetTool, KINDS, type ExtensionKind } from './templates.ts';

/** The commands for which the extension is not activated. */
export default function commands(context: Pick<CommandContext, 'use'>): Command[] {
  return [newExtension(context), newAgent(context)];
}

const ID = (description: string) => [{ name: 'id', description, required: true }];

const REPLACE = { name: 'replace', type: 'boolean', description: 'Also where that replaces one that ships with Pith' } as const;

type Kernel = Pick<CommandContext, 'use'>;
type Sandboxes = Pick<Places, 'sandbox' | 'shippedSandbox'>;

function newExtension(context: Kernel): Command {
  return {
    path: 'extensions new',
    needsTrust: true,
    description: 'Make an extension from a template',
    arguments: ID('Its id, in snake_case'),
    options: [REPLACE, { name: 'kind', short: 'k', type: 'string', description: `What it gives: ${KINDS.join(', ')}`, default: 'tool' }],
    async run({ arguments: given, options }, io) {
      const kind = kindOf(String(options['kind']));
      const id = String(given['id']);
      const places = context.use(Places);
      const template = (checked: string) => extensionTemplate(places.shippedSandbox, kind, checked);
      const test = (checked: string) => extensionTest(places.shippedSandbox, kind, checked);
      await make(places, io, { kind: 'extensions', id, replaces: options['replace'] === true, template, test }, [
        [`pith extensions validate ${id}`, 'check it: manifest, types, imports, loading, a call of each tool'],
        ...(kind === 'tool'
          ? ([[`pith tools call ${greetTool(id)} --input '{"name":"Ada"}'`, 'call its tool as an agent would']] as const)
          : []),
        ['pith chat', 'a chat that runs has it within seconds; saving a file reloads it'],
      ]);
    },
  };
}

function newAgent(context: Kernel): Command {
  return {
    path: 'agents new',
    needsTrust: true,
    description: 'Make an agent from a template',
    arguments: ID('Its id, in snake_case'),
    options: [REPLACE],
    async run({ arguments: given, options }, io) {
      const id = String(given['id']);
      const places = context.use(Places);
      const template = (checked: string) => agentTemplate(places.shippedSandbox, checked);
      await make(places, io, { kind: 'agents', id, replaces: options['replace'] === true, template }, [
        [`pith agents prompt ${id}`, 'see what a model would be sent'],
        [`pith chat -a ${id}`, 'talk to it'],
      ]);
    },
  };
}

type Step = readonly [command: string, why: string];

interface Made {
  readonly kind: Kind | 'agents';
  readonly id: string;
  /** It may take the place of one that ships. */
  readonly replaces: boolean;
  template(id: string): Promise<readonly Source[]>;
  test?(id: string): Promise<string>;
}

async function make(places: Sandboxes, io: CommandIO, made: Made, next: readonly Step[]): Promise<void> {
  const { kind } = made;
  const id = requireId(kind, made.id);
  requireOwn(places, io);
  const folder = activeFolder(places.sandbox, kind, id);
  if (existsSync(folder)) throw new PithError('usage', `nothing was made: ${folder} exists already`, { cure: 'choose another id' });
  if (!made.replaces && places.sandbox !== places.shippedSandbox && existsSync(activeFolder(places.shippedSandbox, kind, id)))
    throw new PithError('usage', `nothing was made: '${id}' ships with Pith, and yours would replace it`, {
      cure: 'choose another id, or add --replace',
    });
  const sources = await made.template(id);
  await writeSources(folder, sources);
  const test = testPath(places, made);
  const hasTest = test !== null && existsSync(test);
  const written = hasTest ? null : test;
  if (written !== null) await writeSources(dirname(written), [{ path: basename(written), bytes: Buffer.from(await made.test!(id)) }]);
  io.json({ ok: true, id, folder, files: sources.map(({ path }) => path), test: written });
  const shown = relative(io.workingDirectory, folder);
  io.print(`Made ${shown}`);
  if (io.quiet) return;
  for (const { path } of sources) io.print(`  ${path}`);
  if (test !== null) io.print(`  ${relative(folder, test)}${hasTest ? ' stays as it was: no test was written' : ''}`);
  const steps = written === null ? next : [...next, testStep(written)];
  const width = Math.max(...steps.map(([command]) => command.length));
  io.print(['', 'Next:', ...steps.map(([command, why]) => `  ${command.padEnd(width)}  ${why}`)].join('\n'));
}

/** Where its test belongs in the project around the sandbox; null: it has none, or the sandbox is in no project of npm. */
function testPath({ sandbox, shippedSandbox }: Sandboxes, { id, test }: Made): string | null {
  const project = dirname(sandbox);
  if (test === undefined || sandbox === shippedSandbox || basename(sandbox) !== 'sandbox') return null;
  return existsSync(join(project, 'package.json')) ? join(project, 'test', `${id}.test.ts`) : null;
}

function testStep(test: string): Step {
  const project = dirname(dirname(test));
  const lacks = existsSync(join(project, 'node_modules', 'vitest')) ? '' : '; once before: npm install --save-dev vitest';
  return [`npx vitest run ${relative(project, test)}`, `run its test, in the project's folder${lacks}`];
}

/** What Pith itself ships is nobody's to write into who does not work on Pith. */
function requireOwn({ sandbox, shippedSandbox }: Sandboxes, { workingDirectory }: CommandIO): void {
  if (sandbox !== shippedSandbox || !relative(dirname(sandbox), workingDirectory).startsWith('..')) return;
  throw new PithError('usage', `nothing was made: there is no sandbox here or above, and ${sandbox} came with Pith`, {
    cure: 'make one with: pith init, or name one with --sandbox',
  });
}

function kindOf(given: string): ExtensionKind {
  const kind = KINDS.find((each) => each === given);
  if (kind !== undefined) return kind;
  throw new PithError('usage', `there is no kind of extension named '${given}'${didYouMean(given, KINDS)}`, {
    cure: `choose one of ${KINDS.join(', ')}`,
  });
}
