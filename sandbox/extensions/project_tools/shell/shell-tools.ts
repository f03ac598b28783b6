import path from 'node:path';
import {
  defineTool,
  toolError,
  toolResult,
  z,
  type ApprovalQuestion,
  type Tool,
  type ToolCall,
  type ToolResult,
  type TurnInfo,
} from 'pith';
import { unlessRefused } from '@pith/safe-files';
import { printableLine } from '@pith/plain-text';
import { sha256 } from '@pith/plain-data';
import { placeOf } from '../changes/change-tools.ts';
import type { UndoLog } from '../changes/undo-log.ts';
import type { BackgroundCommand, CommandRuns, ShellCommand } from './command-runs.ts';
import { filteredProgramOf, programsOf, readOnlyCommandOf, type ReadOnlyCommand, shownWords, type Words } from '@pith/command-line';
import { findProgram, isNowhere } from '@pith/supervised-process';

const LONGEST_COMMAND = 20_000;
const LONGEST_SECONDS = 600;
/** The longest one-line form of a command in a question. */
const LONGEST_SUMMARY = 100;

const command = z.object({
  command: z.string().min(1).max(LONGEST_COMMAND).describe('For bash.'),
  timeout: z.int().min(1).max(LONGEST_SECONDS).optional().describe('Seconds until it is ended.'),
  cwd: z.string().default('.').describe('The folder to run in, relative to the project.'),
  access: z
    .array(z.enum(['network', 'home']))
    .max(2)
    .default([])
    .describe('Only what it needs: the network (installing, fetching), folders of home that the person named in the settings.'),
  background: z.boolean().default(false).describe('For servers and watchers: answer at once with an id, and go on running.'),
});

type Wanted = z.infer<typeof command>;

const look = z.object({
  id: z.string().describe('As shell answered it, such as "bg-1".'),
  wait: z.int().min(0).max(120).default(0).describe('Seconds to wait for its end.'),
});

/** Runs commands in the project. */
export function shellTools(runs: CommandRuns, undo: UndoLog): readonly Tool[] {
  return [shellTool(runs, undo), shellOutputTool(runs), shellStopTool(runs)];
}

function shellTool(runs: CommandRuns, undo: UndoLog): Tool {
  const decided = new Decided();
  return defineTool({
    name: 'shell',
    description:
      'Run a command in the project with bash, such as its tests. The person is asked first, unless it can only read, such as `git diff` or `ls src | head`. ' +
      'It can write the project only, and has no network unless you ask. For reading, searching and changing files use the file tools.',
    input: command,
    effect: 'write',
    permission: { authoring: 'admin', safeToShare: false },
    timeoutMs: (LONGEST_SECONDS + 30) * 1000,
    needsApproval: (wanted, turn) =>
      unlessRefused(async () => {
        if (decided.keep(wanted, turn, await unaskedOf(runs, wanted)) !== null) return false;
        const { sandboxed, ...question } = await questionOf(runs, wanted);
        return sandboxed || (await runs.project.mayChangePith(turn.userId)) ? question : false; // else it is refused
      }, false),
    execute: (wanted, call) => run({ runs, undo, decided }, wanted, call),
    present: (result) => (result.ok ? (result.title ?? 'Ran') : `Error: ${result.error.message}`),
  });
}

/** A command that runs without a question, in a read-only sandbox; null: it is asked about. */
async function unaskedOf({ project, settings, unconfined, history }: CommandRuns, wanted: Wanted): Promise<ReadOnlyCommand | null> {
  if (settings.ask_for_reading || wanted.access.length > 0 || wanted.background) return null;
  const readOnlyCommand = readOnlyCommandOf(programsOf(wanted.command), locate);
  if (readOnlyCommand === null || (await unconfined()) !== null) return null;
  const folder = path.join(project.root, ...project.names(wanted.cwd));
  return readOnlyCommand.printsTracked && (await history.mayPrintSecrets(folder)) ? null : readOnlyCommand;
}

/** Where a reading program is. About one that nobody has there is no question: bash says so. */
function locate(name: string): string | null {
  return findProgram(name) ?? (isNowhere(name) ? name : null);
}

/**
 * Decisions not to ask, for the execution that follows: once, and for the very same call. Checking whether git stores secrets takes a
 * while.
 */
class Decided {
  readonly #commands = new Map<string, ReadOnlyCommand>();

  keep(wanted: Wanted, turn: TurnInfo, readOnlyCommand: ReadOnlyCommand | null): ReadOnlyCommand | null {
    if (this.#commands.size >= MOST_DECIDED) this.#commands.clear(); // calls that never ran
    this.take(wanted, turn);
    if (readOnlyCommand !== null) this.#commands.set(keyOf(wanted, turn), readOnlyCommand);
    return readOnlyCommand;
  }

  take(wanted: Wanted, turn: TurnInfo): ReadOnlyCommand | null {
    const key = keyOf(wanted, turn);
    const readOnlyCommand = this.#commands.get(key) ?? null;
    this.#commands.delete(key);
    return readOnlyCommand;
  }
}

const MOST_DECIDED = 100;

function keyOf(wanted: Wanted, { id }: TurnInfo): string {
  return JSON.stringify([id, wanted]);
}

/** What the command does, what is enforced on this machine while it runs, and what an `always` covers. */
async function questionOf(runs: CommandRuns, wanted: Wanted): Promise<ApprovalQuestion & { readonly sandboxed: boolean }> {
  const folder = runs.project.names(wanted.cwd).join('/') || '.';
  const missing = await runs.unconfined();
  const access = [...new Set(wanted.access)].sort();
  const kind = missing === null ? 'command' : 'unsandboxed';
  const program = access.includes('home') ? null : filteredProgramOf(programsOf(wanted.command));
  const readOnly =
    kind === 'command' && access.length === 0 && !wanted.background
      ? (readOnlyCommandOf(program && [program], findProgram)?.named ?? null)
      : null;
  const whole = withVisibleSpaces(wanted.command);
  const line = printableLine(whole.replaceAll(/[ \t]*\n\s*/gu, ' ⏎ '));
  const isLong = line.length > LONGEST_SUMMARY || wanted.command.includes('\n');
  const notes = [
    isLong ? whole : null,
    folder === '.' ? null : `In the folder ${folder}.`,
    wanted.background ? 'It keeps running in the background until you stop it.' : null,
    RUNS,
  ].filter((note) => note !== null);
  return {
    sandboxed: missing === null,
    summary: `run \`${line.slice(0, LONGEST_SUMMARY)}${line.length > LONGEST_SUMMARY ? '…' : ''}\``,
    text: notes.join('\n'),
    enforced:
      missing === null
        ? confinedBy(access, access.includes('home') ? runs.homeFolders() : [])
        : `not sandboxed: it sees and can change what you can (${missing.why})`,
    subject: sha256(JSON.stringify([wanted.command, folder, access, kind, wanted.background])),
    ...(program !== null
      ? {
          always: coverOf({
            kind,
            words: program.words,
            readOnly,
            folder,
            network: access.includes('network'),
            background: wanted.background,
          }),
        }
      : { once: true }),
  };
}

const RUNS =
  'It runs the code of this project, and may change files that start by themselves later (scripts of package.json, .husky, .vscode, .envrc …): Pith names these when it ends.';

/** Characters that look like a space but are none for bash would make one word look like two. */
function withVisibleSpaces(text: string): string {
  return text.replaceAll(/(?![ \t\n])\s|\p{Zs}(?<! )|\u2800/gu, (each) => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`);
}

function confinedBy(access: readonly string[], folders: readonly string[]): string {
  const network = access.includes('network') ? 'network access to everything that this machine can reach' : 'no network';
  const read = folders.length === 0 ? '' : `, reads ${folders.map((folder) => printableLine(folder)).join(', ')}`;
  return `sandboxed: ${network}, writes the project only${read}`;
}

async function run(
  { runs, undo, decided }: { readonly runs: CommandRuns; readonly undo: UndoLog; readonly decided: Decided },
  wanted: Wanted,
  { approved, signal, turn, idempotencyKey }: ToolCall,
): Promise<ToolResult> {
  const made = decided.take(wanted, turn);
  const { subject, sandboxed } = await questionOf(runs, wanted);
  const mayChangePith = await runs.project.mayChangePith(turn.userId);
  if (!sandboxed && !mayChangePith)
    return toolError(
      'not_allowed',
      'The command was not run: nothing confines it on this machine, and only administrators have agents run such commands',
    );
  const isApproved = subject === approved;
  const readOnlyCommand = isApproved || !sandboxed ? null : (made ?? (await unaskedOf(runs, wanted)));
  if (readOnlyCommand === null && !isApproved)
    return toolError(
      'approval_needed',
      'The command was not run: it needs the approval of a person; make the call again, so that they are asked',
    );
  const folder = runs.project.names(wanted.cwd);
  if ((await runs.project.jail.stat(folder))?.type !== 'directory')
    return toolError('file_unavailable', `there is no folder '${wanted.cwd}' in the project`);
  const seconds = wanted.timeout ?? runs.settings.timeout_seconds;
  const shell: ShellCommand = {
    command: wanted.command,
    folder,
    access: wanted.access,
    timeoutMs: seconds * 1000,
    sandboxed,
    readOnlyCommand,
    mayChangePith,
    asker: turn,
  };
  if (!sandboxed) await runs.project.unconfined(`the command '${shortened(wanted.command)}'`, turn);
  if (wanted.background) {
    const { id } = runs.start(shell);
    await undo.noteCommand(placeOf(turn), wanted.command);
    return toolResult(`started as ${id}; look at it with shell_output, end it with shell_stop`, {
      title: `Started ${shortened(shell.command)} (${id})`,
    });
  }
  if (readOnlyCommand === null) await undo.noteCommand(placeOf(turn), wanted.command);
  const { exit, output, stopped, left, leftBefore } = await runs.run(shell, (text) => runs.show(idempotencyKey, text), signal);
  const warnings = [...(left.length === 0 ? [] : [`it left files that start by themselves: ${left.join('; ')}`]), ...leftBefore];
  const end = stopped === null ? `exit code ${exit}` : `ended: ${stopped}`;
  return toolResult(`${output.trimEnd()}${output.trim() === '' ? '(no output)' : ''}\n[${end}]`, {
    title: `Ran ${shortened(wanted.command)}${exit === 0 ? '' : ` (${end})`}${warnings.map((each) => `; ${shortened(each, 240)}`).join('')}`,
    ...(exit === 0 && warnings.length === 0 ? {} : { metadata: { warn: true } }),
  });
}

function shellOutputTool(runs: CommandRuns): Tool {
  return defineTool({
    name: 'shell_output',
    description: 'Read what a background command has printed so far, and whether it still runs.',
    input: look,
    effect: 'read',
    permission: { authoring: 'anyone', safeToShare: false },
    timeoutMs: 150_000,
    async execute({ id, wait }, { signal, turn: { userId } }) {
      const found = await runs.look(id, userId, wait * 1000, signal);
      return found === null ? unknown(id, runs, userId) : toolResult(describe(found), { title: `Looked at ${id}` });
    },
  });
}

function shellStopTool(runs: CommandRuns): Tool {
  return defineTool({
    name: 'shell_stop',
    description: 'End a background command and all that it started.',
    input: look.pick({ id: true }),
    effect: 'idempotent',
    permission: { authoring: 'admin', safeToShare: false },
    async execute({ id }, { turn: { userId } }) {
      const found = await runs.stop(id, userId);
      return found === null ? unknown(id, runs, userId) : toolResult(describe(found), { title: `Stopped ${id}` });
    },
  });
}

function describe({ command: line, ended, output }: BackgroundCommand): string {
  const state = ended === null ? 'running' : ended.why === null ? `ended with exit code ${ended.exit}` : `ended: ${ended.why}`;
  return `${line}\n${output.trim() === '' ? '(no output)' : output.trimEnd()}\n[${state}]`;
}

function unknown(id: string, runs: CommandRuns, userId: string): ToolResult {
  const ids = runs.list(userId).map((each) => each.id);
  return toolError('not_found', `there is no background command '${id}'${ids.length === 0 ? '' : `; there are ${ids.join(', ')}`}`);
}

function shortened(line: string, most = 60): string {
  const one = printableLine(line.replaceAll(/\s*\n\s*/gu, ' ⏎ '));
  return one.length > most ? `${one.slice(0, most)}…` : one;
}

/** A command in a question, with everything that the question shows with it. */
export interface AskedCommand {
  readonly kind: 'command' | 'unsandboxed';
  readonly words: Words;
  /** The words that name what it does, where it can only read: the cover is then all read-only commands that begin with them. */
  readonly readOnly: Words | null;
  /** From the project down, joined by `/`. */
  readonly folder: string;
  readonly network: boolean;
  readonly background: boolean;
}

/**
 * What an `always` covers: exactly this command, or one that can only read, since a prefix of words does not say what options do. Words
 * with special characters are quoted, so that no two calls share a key by accident.
 */
export function coverOf({ kind, words, readOnly, folder, network, background }: AskedCommand): NonNullable<ApprovalQuestion['always']> {
  const shown = shownWords(readOnly ?? words);
  const place = folder === '.' ? '' : ` in ${JSON.stringify(folder)}`;
  const what = readOnly === null ? `exactly \`${shown}\`` : `\`${shown}\` with all that can only read`;
  return {
    key: `${kind}:${shown}${readOnly === null ? '' : ' …'}${network ? ' +network' : ''}${background ? ' +background' : ''}${place}`,
    covers: printableLine(`${what}${network ? ' with network' : ''}${background ? ' in the background' : ''}${place}`),
  };
}
