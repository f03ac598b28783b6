import { defineTool, toolResult, z, type Tool, type ToolCall, type ToolResult, type TurnInfo } from 'pith';
import type { OneAtATime } from '@pith/folder-changes';
import { FileRefused, unlessRefused } from '@pith/safe-files';
import { refuseGuardedChange } from '../files/guarded-files.ts';
import { noFile } from '../files/read-file.ts';
import type { Project } from '../files/project.ts';
import { applyEdits } from './edits.ts';
import { changeQuestion, countOf, editedBytes, inStyleOf, requireApproved, textBefore, type TextChange } from './text-change.ts';
import type { UndoLog } from './undo-log.ts';

const path = z.string().min(1).describe('Relative to the project, such as "src/main.ts".');

const edits = z.object({
  path,
  edits: z
    .array(
      z.object({
        old_text: z.string().min(1).describe('Exact text of the file that occurs once.'),
        new_text: z.string().describe('What is there afterwards.'),
        all: z.boolean().default(false).describe('Replace every occurrence.'),
      }),
    )
    .min(1)
    .max(50)
    .describe('Applied one after the other; all of them or none.'),
});

const whole = z.object({ path, content: z.string().describe('The whole text of the file.') });

/** The undo log, and the queue that runs changes one after the other. */
export interface Changes {
  readonly undo: UndoLog;
  readonly inTurn: OneAtATime;
}

/** Changes that a person sees as a diff before they happen. Absent in an untrusted project. */
export function changeTools(project: Project, changes: Changes): readonly Tool[] {
  return [
    changeTool(project, changes, {
      name: 'edit_file',
      description: 'Change a file of the project by exact replacements: each old_text must occur once. The person sees the diff first.',
      input: edits,
      async plan(call, names) {
        const former = await textBefore(project, names);
        if (former === null) throw new FileRefused('file_unavailable', `${await noFile(project, names)}; to make it, use write_file`);
        return { names, before: former.bytes, after: editedBytes(former.text, applyEdits(call.path, former.text, call.edits)) };
      },
    }),
    changeTool(project, changes, {
      name: 'write_file',
      description:
        'Write a whole file of the project, new or in the place of another. The person sees the diff first. For a part of a file use edit_file.',
      input: whole,
      async plan(call, names) {
        if (names.length === 0) throw new FileRefused('file_unavailable', 'name a file');
        const former = await textBefore(project, names);
        return { names, before: former?.bytes ?? null, after: inStyleOf(former?.text ?? null, call.content) };
      },
    }),
  ];
}

interface ChangeTool<Schema extends z.ZodType<{ readonly path: string }>> {
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  /** The call's effect on the present file. Throws `FileRefused`. */
  plan(call: z.infer<Schema>, names: readonly string[]): Promise<TextChange>;
}

function changeTool<Schema extends z.ZodType<{ readonly path: string }>>(
  project: Project,
  { undo, inTurn }: Changes,
  { plan, ...tool }: ChangeTool<Schema>,
): Tool {
  const planned = async (call: z.infer<Schema>, turn: TurnInfo): Promise<TextChange> => {
    const [names, real] = [project.names(call.path), project.followed(call.path)];
    if (names.join('/') !== real.join('/'))
      throw new FileRefused('file_unavailable', `'${names.join('/')}' is a link to '${real.join('/')}': change that file instead`);
    await refuseGuardedChange(project, names, turn);
    if (await project.isOfSkills(names))
      throw new FileRefused(
        'use_proposal',
        `'${names.join('/')}' is in a folder of skills, where only people write: ${await project.proposalCure(turn)}`,
      );
    const change = await plan(call, names);
    if (change.before?.equals(change.after)) throw new FileRefused('edit_empty', `'${change.names.join('/')}' has this text already`);
    return change;
  };
  return defineTool({
    ...tool,
    effect: 'write',
    permission: { authoring: 'admin', safeToShare: false },
    needsApproval: (call, turn) => unlessRefused(async () => changeQuestion(project, await planned(call, turn)) ?? false, false),
    execute: (call, about) =>
      inTurn.run(placeOfFile(project, call.path), async () => apply(project, undo, await planned(call, about.turn), about), about.signal),
    present: (result) => (result.ok ? (result.title ?? 'Changed') : `Error: ${result.error.message}`),
  });
}

/** The key under which changes of a file wait for each other. */
export function placeOfFile(project: Project, given: string): string {
  return [project.root, ...project.names(given)].join('/');
}

async function apply(project: Project, undo: UndoLog, change: TextChange, { approved, signal, turn }: ToolCall): Promise<ToolResult> {
  requireApproved(changeQuestion(project, change), approved);
  signal.throwIfAborted(); // from here on it runs to its end
  const file = change.names.join('/');
  const staged = await project.jail.stage(change.names, change.after);
  try {
    await undo.keep({ ...placeOf(turn), path: file }, change.before, change.after);
  } catch (error) {
    staged.discard();
    throw error;
  }
  staged.commit({ former: change.before });
  const count = countOf(change.before?.toString() ?? '', change.after.toString());
  return toolResult(`${change.before === null ? 'created' : 'changed'} ${file} (${count})`, {
    title: `${change.before === null ? 'Created' : 'Changed'} ${file} (${count})`,
  });
}

/** Where a change is counted: the person's conversation, and the message that caused it, whichever agent works. */
export function placeOf({ threadId, correlationId }: Pick<TurnInfo, 'threadId' | 'correlationId'>) {
  return { thread: threadId.split('/', 1)[0] ?? threadId, message: correlationId };
}
