import { messageOf, PithError, toolError, type ApprovalQuestion, type ToolResult } from 'pith';

/** What was refused is an answer; anything else is thrown on. */
export async function guarded(run: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof PithError)) throw error;
    return toolError(error.code, `${messageOf(error)}${error.cure === undefined ? '' : `; ${error.cure}`}`);
  }
}

/** What a person agrees to before files become active: what they read, and what names exactly those files. */
export interface Agreed {
  /** In one line. */
  readonly summary: string;
  readonly text: string;
  /** What the code is held to once it is active; absent: it is no code. */
  readonly enforced?: string;
  readonly subject: string;
}

/**
 * The question before an activation. It is always one: what would be refused now may pass a moment later, when a call beside this one has
 * written the staged files again. It is never for `always`, because the next activation is of other code.
 */
export async function questionOf(read: () => Promise<Agreed | { readonly why: string }>): Promise<ApprovalQuestion> {
  try {
    const found = await read();
    return 'text' in found ? { ...found, once: true } : refused(found.why);
  } catch (error) {
    return refused(messageOf(error));
  }
}

/** What answers a call whose files are not those that were agreed to. null: they are. */
export function unlessAgreed(subject: string, approved: string | undefined, id: string): ToolResult | null {
  if (approved === subject) return null;
  return toolError(
    'approval_needed',
    `'${id}' stays as it is: a person has not agreed to these very files; make the call again, so that they are asked`,
  );
}

function refused(why: string): ApprovalQuestion {
  return { text: `as it is now, this will be refused: ${why}`, once: true };
}
