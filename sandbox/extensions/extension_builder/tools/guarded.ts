import { messageOf, PithError, toolError, type ToolResult } from 'pith';

/** What was refused is an answer; anything else is thrown on. */
export async function guarded(run: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof PithError)) throw error;
    return toolError(error.code, `${messageOf(error)}${error.cure === undefined ? '' : `; ${error.cure}`}`);
  }
}

/**
 * What a person reads before an activation. It is always a question: what would be refused now may pass a moment later,
 * when a call beside this one has written the staged files again.
 */
export async function questionOf(read: () => Promise<{ readonly text: string } | { readonly why: string }>): Promise<string> {
  try {
    const found = await read();
    return 'text' in found ? found.text : refused(found.why);
  } catch (error) {
    return refused(messageOf(error));
  }
}

function refused(why: string): string {
  return `as things stand this will be refused: ${why}`;
}
