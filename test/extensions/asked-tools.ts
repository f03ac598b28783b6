import type { ApprovalQuestion, JsonValue, ToolResult, TurnInfo } from 'pith';
import type { TestKernel } from 'pith/testing';
import { TURN } from '../fixtures/agent-spec.ts';

/** The tools of one extension, called behind the gate. */
export interface AskedTools {
  /** What a person is asked; null: nothing. */
  question(tool: string, input: JsonValue): Promise<ApprovalQuestion | null>;
  /** With exactly this subject agreed to. */
  approved(tool: string, input: JsonValue, subject?: string, signal?: AbortSignal): Promise<ToolResult>;
  /** As with a person who says yes to whatever they are asked. */
  call(tool: string, input: JsonValue, signal?: AbortSignal): Promise<ToolResult>;
}

export function askedTools({ kernel }: TestKernel, extension: string, turn: TurnInfo = { ...TURN, userId: 'local' }): AskedTools {
  const { tools } = kernel.host.providers;
  const question: AskedTools['question'] = async (tool, input) => {
    const asks = (await tools.of(extension)).find(({ name }) => name === tool)?.needsApproval === 'maybe';
    const said = asks && (await tools.needsApproval(extension, tool, input, turn));
    return typeof said === 'object' ? said : null;
  };
  const approved: AskedTools['approved'] = (tool, input, subject, signal = new AbortController().signal) =>
    tools.call(extension, tool, input, { turn, idempotencyKey: 'k', signal, ...(subject !== undefined && { approved: subject }) });
  return {
    question,
    approved,
    call: async (tool, input, signal) => approved(tool, input, (await question(tool, input))?.subject, signal),
  };
}
