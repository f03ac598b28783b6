import { PithError, type Command, type CommandIO } from 'pith';
import { FileRefused } from '@pith/safe-files';
import { printableLine } from '@pith/plain-text';
import { sha256 } from '@pith/plain-data';
import type { Project } from '../files/project.ts';
import { placeOfFile, type Changes } from './change-tools.ts';
import type { ChangedTurn, KeptChange } from './undo-log.ts';

const MOST_TURNS = 100;

/** `/undo`, `/undo 3`. Asks before it overwrites what a person changed since. */
export function undoCommand(project: Project | null, changes: Changes): Command {
  return {
    path: 'undo',
    description: 'Show and take back the file changes of the last turn, or of the last N',
    arguments: [{ name: 'turns', description: 'How many turns; default 1' }],
    options: [{ name: 'thread', short: 't', type: 'string', description: 'The conversation; default: this one' }],
    needsTrust: true,
    async run(input, io) {
      const thread = io.session?.threadId ?? input.options['thread'];
      if (typeof thread !== 'string')
        throw new PithError('usage', 'undo: no conversation was named', { cure: 'use /undo in a chat, or: pith undo --thread ID' });
      if (project === null)
        throw new PithError('usage', 'undo: there is no project here', { cure: 'run Pith in the folder of your project' });
      const turns = await changes.undo.last(thread, countOf(input.arguments['turns']));
      if (turns.length === 0) {
        io.json({ undone: [], kept: [], commands: [] });
        io.print(
          (await changes.undo.hasAny(thread))
            ? 'Nothing more to undo: every change of a tool in this conversation has been taken back.'
            : 'Nothing to undo: no tool has changed a file in this conversation.',
        );
        return;
      }
      const outcome: Outcome = { undone: [], kept: [] };
      for (const turn of turns) await takeBack(project, changes, { turn, thread, io, outcome });
      const commands = turns.flatMap((turn) => turn.commands);
      io.json({ ...outcome, commands: [...commands] });
      if (commands.length > 0)
        io.print(
          `Not undone: what these commands may have changed: ${commands.map((command) => `\`${printableLine(command, 80)}\``).join(', ')}`,
        );
    },
  };
}

interface Outcome {
  readonly undone: string[];
  readonly kept: string[];
}

function countOf(given: string | readonly string[] | undefined): number {
  if (given === undefined) return 1;
  const count = Number(given);
  if (Number.isInteger(count) && count >= 1 && count <= MOST_TURNS) return count;
  throw new PithError('usage', `undo: '${printableLine(String(given), 40)}' is not a number of turns`, {
    cure: `write a number from 1 to ${MOST_TURNS}`,
  });
}

interface Taking {
  readonly turn: ChangedTurn;
  readonly thread: string;
  readonly io: CommandIO;
  readonly outcome: Outcome;
}

/** The first change of a file in the turn says what it contained before, the last what it contains unless somebody changed it. */
async function takeBack(project: Project, changes: Changes, { turn, thread, io, outcome }: Taking): Promise<void> {
  const files = new Map<string, TakenBack>();
  for (const change of turn.changes) {
    const first = files.get(change.path);
    const isBetween = first !== undefined && (first.isBetween || change.before !== first.after);
    files.set(change.path, { ...change, before: first === undefined ? change.before : first.before, isBetween });
  }
  let isWhole = true;
  for (const change of files.values()) {
    const done = await takeBackFile(project, changes, change, io).catch((error: unknown) => {
      if (!(error instanceof FileRefused)) throw error;
      return said(io, `${printableLine(change.path)} stays as it is: ${error.message}`, false);
    });
    (done ? outcome.undone : outcome.kept).push(change.path);
    isWhole &&= done;
  }
  if (isWhole) await changes.undo.markUndone(thread, turn.message);
}

/** `isBetween`: somebody else changed the file between two changes of the turn. */
type TakenBack = KeptChange & { readonly isBetween: boolean };

async function takeBackFile(
  project: Project,
  { undo, inTurn }: Changes,
  { path, before, after, isBetween }: TakenBack,
  io: CommandIO,
): Promise<boolean> {
  const names = project.names(path);
  const shown = printableLine(path);
  const found = await bytesNow(project, names);
  const now = found === null ? null : sha256(found);
  if (now === before) return said(io, `${shown} is already as it was`, true);
  const former = before === null ? null : undo.bytesOf(before);
  if (before !== null && former === null) return said(io, `${shown}: its former content is no longer kept`, false);
  if (now !== after || isBetween) {
    const question = `${shown} has changed since the tool first wrote it. Overwrite it with its former content?`;
    const answer = await io.ask(question, { choices: ['yes', 'no'] });
    if (answer !== 'yes') return said(io, `${shown} stays as it is: it has changed since`, false);
  }
  const put = async () => {
    if (former === null) await project.jail.remove(names, { bytes: found ?? undefined });
    else (await project.jail.stage(names, former)).commit({ former: found });
  };
  await inTurn.run(placeOfFile(project, path), put, new AbortController().signal);
  return said(io, former === null ? `Removed ${shown}, which was new` : `Restored ${shown}`, true);
}

function said(io: CommandIO, line: string, done: boolean): boolean {
  io.print(line);
  return done;
}

/** null: there is no file. */
async function bytesNow(project: Project, names: readonly string[]): Promise<Buffer | null> {
  if ((await project.jail.stat(names)) === null) return null;
  return project.jail.read(names, (handle) => handle.readFile());
}
