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
