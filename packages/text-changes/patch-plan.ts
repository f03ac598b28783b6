import { parsePatch, type StructuredPatch } from 'diff';
import { FileRefused } from '@pith/safe-files';
import { patchedText } from './patched-text.ts';

/** A patch's change of one file. */
export interface FilePatch {
  /** null: the file is created. */
  readonly from: string | null;
  /** null: the file is removed. */
  readonly to: string | null;
  /** The file at `from` stays. */
  readonly isCopy: boolean;
  readonly patch: StructuredPatch;
  /** Whether the file becomes executable, where the patch says so; null: unchanged. */
  readonly executable: boolean | null;
}

const MAX_FILES = 100;
/** Ends a mailed patch; it would otherwise count as a removed line. Lines end at line feeds only, as for whoever looks at the headers. */
const SIGNATURE = /(?<=^|\n)-- \r?\n(?=\d+\.\d)/gu;

/** Parses a unified diff. Throws `patch_invalid`. */
export function parsePlan(text: string): readonly FilePatch[] {
  let parsed: readonly StructuredPatch[];
  try {
    parsed = parsePatch(text.replaceAll(SIGNATURE, ''));
  } catch (error) {
    throw invalid(`it is not a unified diff: ${(error instanceof Error ? error.message : String(error)).trim()}`);
  }
  if (/^GIT binary patch\r?$/mu.test(text)) throw invalid('it has bytes of a binary file in it'); // no line of a hunk begins like this
  const plan = parsed.map((patch, index) => filePatch(patch, index));
  if (plan.length === 0) throw invalid('it does not name a file');
  if (plan.length > MAX_FILES) throw invalid(`it changes ${plan.length} files; at most ${MAX_FILES} are changed at once`);
  const seen = new Set<string>();
  for (const path of plan.flatMap(({ from, to, isCopy }) => [...new Set(isCopy ? [to] : [from, to])])) {
    if (path === null) continue;
    if (seen.has(path)) throw invalid(`'${path}' occurs twice; put all its hunks under one header`);
    seen.add(path);
  }
  return plan;
}

/** The file's new text. Throws `patch_failed` with the first hunk that does not fit. */
export function applyTo(before: string, { patch, from, to }: FilePatch): string {
  const after = patchedText(before, patch.hunks);
  if (typeof after === 'string') return after;
  const { hunk, line, expected, found } = after;
  throw new FileRefused(
    'patch_failed',
    `Hunk ${hunk} of ${patch.hunks.length} does not fit '${from ?? to}' at line ${line}: expected ${quote(expected)}, line ${line} is ${quote(found)}. Nothing was changed; read the file and try again`,
  );
}

function filePatch(patch: StructuredPatch, index: number): FilePatch {
  const { isCreate, isDelete, newMode } = patch;
  const [old, next] = withoutPrefixes(patch.oldFileName, patch.newFileName);
  if (!old || !next) throw invalid(`section ${index + 1} has no '--- a/path' and '+++ b/path' header`);
  const from = isCreate === true || old === ABSENT ? null : old;
  const to = isDelete === true || next === ABSENT ? null : next;
  if (from === null && to === null) throw invalid(`section ${index + 1} does not name a file`);
  if (patch.isBinary === true) throw invalid(`'${to ?? from}' is a binary file`);
  if (newMode !== undefined && !/^100(?:644|755)$/u.test(newMode)) throw invalid(`'${to}' would be no ordinary file (mode ${newMode})`);
  if (patch.hunks.length === 0 && from === to && newMode === undefined) throw invalid(`'${to}' has no hunk`);
  return { from, to, isCopy: patch.isCopy === true, patch, executable: newMode === undefined ? null : newMode === '100755' };
}

const ABSENT = '/dev/null';

/** Removes git's prefixes `a/` and `b/`, unless one of the two names lacks its prefix. */
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
