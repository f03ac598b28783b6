import { applyPatch, parsePatch, type StructuredPatch } from 'diff';
import { messageOf } from 'pith';
import { FileRefused } from '@pith/safe-files';

/** What a patch wants of one file. */
export interface FilePatch {
  /** null: the file is made. */
  readonly from: string | null;
  /** null: the file is removed. */
  readonly to: string | null;
  readonly patch: StructuredPatch;
  /** Whether it may be run afterwards, where the patch says so; null: as before. */
  readonly executable: boolean | null;
}

const MAX_FILES = 100;

/** Reads a unified diff. Throws `patch_invalid`. */
export function parsePlan(text: string): readonly FilePatch[] {
  let parsed: readonly StructuredPatch[];
  try {
    parsed = parsePatch(text);
  } catch (error) {
    throw invalid(`it is no unified diff: ${messageOf(error).trim()}`);
  }
  const plan = parsed.map((patch, index) => filePatch(patch, index));
  if (plan.length === 0) throw invalid('it names no file');
  if (plan.length > MAX_FILES) throw invalid(`it changes ${plan.length} files; at most ${MAX_FILES} are changed at once`);
  const seen = new Set<string>();
  for (const path of plan.flatMap((file) => [...new Set([file.from, file.to])])) {
    if (path === null) continue;
    if (seen.has(path)) throw invalid(`'${path}' occurs twice; put all its hunks under one header`);
    seen.add(path);
  }
  return plan;
}

/** The file's new text. Throws `patch_failed` with the first hunk that does not fit. */
export function applyTo(before: string, { patch, from, to }: FilePatch): string {
  const after = applyPatch(before, patch);
  if (after !== false) return after;
  const path = from ?? to ?? '';
  for (const [index, hunk] of patch.hunks.entries()) {
    if (applyPatch(before, { ...patch, hunks: patch.hunks.slice(0, index + 1) }) !== false) continue;
    const found = before.split('\n')[hunk.oldStart - 1];
    const expected = hunk.lines.find((line) => !line.startsWith('+'))?.slice(1);
    throw new FileRefused(
      'patch_failed',
      `Hunk ${index + 1} of ${patch.hunks.length} does not fit '${path}' at line ${hunk.oldStart}: expected ${quote(expected)}, line ${hunk.oldStart} is ${quote(found)}. Nothing was changed; read the file and try again`,
    );
  }
  throw new FileRefused('patch_failed', `The patch does not fit '${path}'. Nothing was changed; read the file and try again`);
}

function filePatch(patch: StructuredPatch, index: number): FilePatch {
  const { isCreate, isDelete, newMode } = patch;
  const [old, next] = withoutPrefixes(patch.oldFileName, patch.newFileName);
  if (!old || !next) throw invalid(`section ${index + 1} has no '--- a/path' and '+++ b/path' header`);
  const from = isCreate === true || old === ABSENT ? null : old;
  const to = isDelete === true || next === ABSENT ? null : next;
  if (from === null && to === null) throw invalid(`section ${index + 1} names no file`);
  if (patch.isBinary === true) throw invalid(`'${to ?? from}' is a binary file`);
  if (patch.isCopy === true) throw invalid(`'${to}' is a copy; use the file tool for that`);
  if (newMode !== undefined && !/^100(?:644|755)$/u.test(newMode)) throw invalid(`'${to}' would be no ordinary file (mode ${newMode})`);
  if (patch.hunks.length === 0 && from === to && newMode === undefined) throw invalid(`'${to}' has no hunk`);
  return { from, to, patch, executable: newMode === undefined ? null : newMode === '100755' };
}

const ABSENT = '/dev/null';

/** The prefixes of git, `a/` and `b/`, are none where one of the two names lacks its own. */
function withoutPrefixes(old: string | undefined, next: string | undefined): readonly (string | undefined)[] {
  const has = (name: string | undefined, prefix: string) => name === ABSENT || name?.startsWith(prefix) === true;
  if (!has(old, 'a/') || !has(next, 'b/')) return [old, next];
  return [old, next].map((name) => (name === ABSENT ? name : name?.slice(2)));
}

function invalid(reason: string): FileRefused {
  return new FileRefused('patch_invalid', `The patch cannot be used: ${reason}`);
}

function quote(line: string | undefined): string {
  return line === undefined ? 'the end of the file' : `\`${line.length > 100 ? `${line.slice(0, 100)}…` : line}\``;
}
