import type { ToolResult } from '../../contract/index.ts';
import { headAndTail } from '../compaction/shorten.ts';

/** Characters of one result as JSON. Room for a part of a long skill file (1 MiB) and what stands around it. */
const MOST = 1_310_720;
const HEAD = 65_536;
const TAIL = 16_384;
const MOST_OF_ERROR = 4_000;

/** A result that a row, a channel and a model can take: what is longer is cut to its head and tail, which say so. */
export function boundedResult(result: ToolResult): ToolResult {
  if (!result.ok) {
    const { code, message } = result.error;
    return message.length <= MOST_OF_ERROR
      ? result
      : { ...result, error: { code, message: headAndTail(message, MOST_OF_ERROR - 500, 400) } };
  }
  const { output } = result;
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return text.length <= MOST ? result : { ...result, output: headAndTail(text, HEAD, TAIL) };
}
