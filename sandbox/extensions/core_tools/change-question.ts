import type { ApprovalQuestion, JsonValue } from 'pith';
import { notTextAt } from '@pith/plain-text';
import { FileRefused } from '@pith/safe-files';
import { sha256 } from '@pith/plain-data';
import { difference } from '@pith/text-changes';

/** The most bytes of one file that a person is shown. */
const MAX_SHOWN_BYTES = 256 * 1024;

/** A path that is asked about, and why. */
export interface Asked {
  readonly path: string;
  readonly why: string;
}

/** Content that is not in the input: a person must see it, and approves these bytes alone. */
export interface Shown {
  readonly path: string;
  readonly before: Buffer | null;
  readonly after: Buffer;
}

/** A change that a person must approve. */
interface AskedChange {
  /** In one line: `delete agents/greeter/manifest.yaml`. */
  readonly summary: string;
  readonly asked: readonly Asked[];
  readonly shown: readonly Shown[];
  /** The call's input. */
  readonly bound: JsonValue;
}

/**
 * The question before a change, with all that an approval covers: the call (`bound`) and the bytes. Never offers `always`, because such
 * files act later and without a question. Throws `FileRefused` for content that cannot be shown whole.
 */
export function questionOf({ summary, asked, shown, bound }: AskedChange): ApprovalQuestion {
  const reasons = asked.map(({ path, why }) => `'${path}' ${why}`);
  const texts = shown.map(({ path, before, after }) => {
    const [old, next] = [before === null ? null : textOf(path, before), textOf(path, after)];
    return `'${path}' will have SHA-256 ${sha256(after)}:\n${difference(path, old, next)}`;
  });
  const bytes = shown.map(({ path, before, after }) => [path, before && sha256(before), sha256(after)]);
  return { summary, text: [...reasons, ...texts].join('\n'), subject: sha256(JSON.stringify([bound, bytes])), once: true };
}

/** Throws for a call whose question differs from the approved one. */
export function requireApproved(question: ApprovalQuestion | null, approved: string | undefined): void {
  if (question === null || question.subject === approved) return;
  const why = approved === undefined ? 'it needs the approval of a person' : 'what it would write has changed since a person agreed to it';
  throw new FileRefused('approval_needed', `Nothing was changed: ${why}; make the call again, so that they are asked`);
}

/** Whether a person can read all of it. */
export function isShowable(bytes: Buffer): boolean {
  return bytes.length <= MAX_SHOWN_BYTES && notTextAt(bytes) === null;
}

function textOf(path: string, bytes: Buffer): string {
  if (bytes.length > MAX_SHOWN_BYTES)
    throw new FileRefused(
      'file_too_large',
      `'${path}' has ${bytes.length} bytes; a person is shown ${MAX_SHOWN_BYTES} at most, so this is not done`,
    );
  const at = notTextAt(bytes);
  if (at !== null)
    throw new FileRefused(
      'file_binary',
      `'${path}' is not text at byte ${at}, so nobody could read it before agreeing; nothing was changed`,
    );
  return bytes.toString();
}
