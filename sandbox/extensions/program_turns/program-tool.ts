import { defineTool, type Tool, toolError, toolResult, z } from 'pith';
import { programCallId } from './call-ids.ts';
import type { OpenCalls } from './open-calls.ts';

/** The one tool that stands for all those of programs. `calls`: of the turns that this process runs for one, by thread. */
export function programTool(calls: ReadonlyMap<string, OpenCalls>): Tool {
  return defineTool({
    name: 'program_tool',
    description: 'A tool of the program that talks with the agent. The program runs it.',
    input: z.looseObject({}),
    effect: 'read', // asking for its result changes nothing: what the program does is the program's
    optIn: true,
    permission: { authoring: 'admin', safeToShare: false },
    execute(input, { turn, callId = '', idempotencyKey }) {
      const id = programCallId(turn.threadId, idempotencyKey);
      const result = calls.get(turn.threadId)?.take(callId, { id, input: input as never });
      return result === undefined ? toolError('awaiting_result', 'the program has not answered yet') : toolResult(result);
    },
  });
}
