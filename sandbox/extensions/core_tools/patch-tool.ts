import { defineTool, toolResult, z, type ApprovalQuestion, type Tool, type ToolCall, type ToolResult, type TurnInfo } from 'pith';
import type { OneAtATime } from '@pith/folder-changes';
import { decodeText, FileRefused, type Jail, type StagedFile, unlessRefused } from '@pith/safe-files';
import { questionOf, requireApproved, type Asked } from './change-question.ts';
import { applyTo, type FilePatch, parsePlan } from '@pith/text-changes';
import { noted, type Policy } from './policy.ts';

const MAX_BYTES = 1024 * 1024;

/** One file before and after, null where it is absent. */
interface Change {
  readonly segments: readonly string[];
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  /** The mode of the former file; null: there was none. */
  readonly oldMode: number | null;
  /** null: the system's default for new files. */
  readonly mode: number | null;
}

/** Applies a unified diff to the sandbox: all its files or, when anything fails, none. */
export function patchTool(jail: Jail, policy: Policy, changes: OneAtATime): Tool {
  return defineTool({
    name: 'apply_patch',
    description:
      'Apply a unified diff (--- a/path, +++ b/path, @@ hunks; /dev/null makes or removes a file) to files of the sandbox. ' +
      'All files change or none does. Approval is needed as for `file`.',
    input: z.object({ patch: z.string().min(1).describe('The unified diff; paths are relative to the sandbox.') }),
    effect: 'write',
    permission: { authoring: 'admin', safeToShare: false },
    needsApproval: ({ patch }, turn) => unlessRefused(async () => (await prepare(jail, policy, patch, turn)).question ?? false, false),
    execute: ({ patch }, about) => changes.run(jail.root, () => run(jail, policy, patch, about), about.signal),
    present: (result) => (result.ok ? (result.title ?? 'Done') : `Error: ${result.error.message}`),
  });
}

/** A patch with its present effect, and what a person must approve first; null: nothing. */
interface Prepared {
  readonly changes: readonly Change[];
  readonly question: ApprovalQuestion | null;
}

async function prepare(jail: Jail, policy: Policy, text: string, turn: TurnInfo): Promise<Prepared> {
  if (Buffer.byteLength(text) > MAX_BYTES) throw new FileRefused('patch_too_large', `A patch may have at most ${MAX_BYTES} bytes`);
  const plan = parsePlan(text);
  for (const { from, isCopy } of plan) if (from !== null && isCopy) policy.requireReadable(policy.namesOf(from));
  const asked: Asked[] = [];
  for (const path of changedBy(plan)) {
    const segments = policy.namesOf(path);
    const why = await policy.reasonToAsk(segments, turn);
    if (why !== null) asked.push({ path: segments.join('/'), why });
  }
  const all: Change[] = [];
  for (const file of plan) all.push(...(await changesOf(jail, policy, file)));
  const changes = all.filter((change) => !isNone(change));
  if (changes.length === 0)
    throw new FileRefused(
      'patch_failed',
      'The patch changes nothing: its files have this text and this mode already. Read them, and leave the patch out if they are as they should be',
    );
  if (asked.length === 0) return { changes, question: null };
  const shown = changes.flatMap(({ segments, before, after }) => {
    const path = segments.join('/');
    return after !== null && asked.some((each) => each.path === path) ? [{ path, before, after }] : [];
  });
  const paths = [...new Set(changes.map(({ segments }) => segments.join('/')))];
  const summary = paths.length === 1 ? `change ${paths[0]}` : `change ${paths.length} files: ${paths.join(', ')}`;
  return { changes, question: questionOf({ summary, asked, shown, bound: text }) };
}

async function run(jail: Jail, policy: Policy, text: string, { approved, signal, turn }: ToolCall): Promise<ToolResult> {
  const { changes, question } = await prepare(jail, policy, text, turn);
  requireApproved(question, approved);
  signal.throwIfAborted(); // from here on it runs to its end, so that it is all or none
  const written = changes.flatMap(({ segments, after }) => (after === null ? [] : { names: segments, bytes: after }));
  const drafts = await policy.beforeWrite(written, turn);
  await apply(jail, changes);
  const paths = changes.map((change) => change.segments.join('/'));
  return toolResult(
    {
      changed: changes.map((change) => ({
        path: change.segments.join('/'),
        how: change.before === null ? 'added' : change.after === null ? 'removed' : 'changed',
      })),
      ...noted(drafts),
    },
    { title: `Patched ${paths.length === 1 ? paths[0] : `${paths.length} files`}` },
  );
}

async function changesOf(jail: Jail, policy: Policy, file: FilePatch): Promise<readonly Change[]> {
  const from = file.from === null ? null : policy.namesOf(file.from);
  const to = file.to === null ? null : policy.namesOf(file.to);
  const old = from === null ? null : await readWhole(jail, from);
  const { bytes: before, mode: oldMode } = old ?? { bytes: null, mode: null };
  const text = before === null ? '' : decodeText(before);
  if (text === null)
    throw new FileRefused('file_binary', `'${file.from}' is not text in UTF-8, so it cannot be patched; nothing was changed`);
  const after = Buffer.from(applyTo(text, file));
  if (after.length > MAX_BYTES)
    throw new FileRefused('file_too_large', `'${file.to}' would have more than ${MAX_BYTES} bytes; nothing was changed`);
  if (to === null) {
    if (after.length > 0)
      throw new FileRefused(
        'patch_failed',
        `The patch removes '${file.from}' but leaves text in it. Nothing was changed; read the file and try again`,
      );
    return from === null ? [] : [{ segments: from, before, after: null, oldMode, mode: null }];
  }
  const moved = from === null || from.join('/') !== to.join('/');
  if (moved && (await jail.stat(to)) !== null) throw new FileRefused('target_exists', `'${file.to}' exists already; nothing was changed`);
  const written = { segments: to, before: moved ? null : before, after, oldMode, mode: modeOf(file, oldMode) };
  return moved && from !== null && !file.isCopy ? [written, { segments: from, before, after: null, oldMode, mode: null }] : [written];
}

function isNone({ before, after, oldMode, mode }: Change): boolean {
  return before !== null && after !== null && before.equals(after) && mode === oldMode;
}

function modeOf({ executable }: FilePatch, before: number | null): number | null {
  if (executable === null) return before;
  if (executable) return (before ?? 0o644) | 0o111;
  return before === null ? null : before & ~0o111;
}

/** Writes everything to disk, next to its place, before the first file changes; a failure after that restores the files. */
async function apply(jail: Jail, changes: readonly Change[]): Promise<void> {
  const staged: { readonly change: Change; readonly file: StagedFile }[] = [];
  const waiting = new Set<StagedFile>();
  const done: Change[] = [];
  try {
    for (const change of changes) {
      if (change.after === null) continue;
      const file = await jail.stage(change.segments, change.after, change.mode);
      staged.push({ change, file });
      waiting.add(file);
    }
    for (const change of changes) await requireUnchanged(jail, change);
    for (const { change, file } of staged) {
      waiting.delete(file);
      file.commit({ former: change.before });
      done.push(change);
    }
    for (const change of changes) {
      if (change.after !== null) continue;
      await jail.remove(change.segments, { bytes: change.before ?? undefined });
      done.push(change);
    }
  } catch (error) {
    for (const file of waiting) file.discard();
    for (const change of done.toReversed()) await undo(jail, change);
    throw error;
  }
}

async function undo(jail: Jail, { segments, before, oldMode }: Change): Promise<void> {
  if (before === null) await jail.remove(segments);
  else (await jail.stage(segments, before, oldMode)).commit();
}

async function requireUnchanged(jail: Jail, { segments, before }: Change): Promise<void> {
  const same = before === null ? (await jail.stat(segments)) === null : before.equals((await readWhole(jail, segments)).bytes);
  if (!same)
    throw new FileRefused(
      'file_changed',
      `'${segments.join('/')}' was changed by another meanwhile; nothing was changed, read it and try again`,
    );
}

function readWhole(jail: Jail, segments: readonly string[]): Promise<{ readonly bytes: Buffer; readonly mode: number }> {
  return jail.read(segments, async (handle, size) => {
    if (size > MAX_BYTES)
      throw new FileRefused('file_too_large', `'${segments.join('/')}' has more than ${MAX_BYTES} bytes and cannot be patched`);
    return { bytes: await handle.readFile(), mode: (await handle.stat()).mode & 0o777 };
  });
}

function changedBy(plan: readonly FilePatch[]): readonly string[] {
  return plan.flatMap(({ from, to, isCopy }) => [isCopy ? null : from, to]).filter((path) => path !== null);
}
