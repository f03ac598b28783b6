import { codeOf, defineTool, messageOf, toolError, toolResult, z } from 'pith';
import type { Reviewer } from '../reviewer.ts';

const input = z.object({
  proposal: z.string().min(1).max(300),
  verdict: z.enum(['approve', 'reject']),
  reason: z.string().trim().min(1).max(2000),
});

/** For the reviewer alone. */
export function reviewTool(reviewer: () => Promise<Reviewer>) {
  return defineTool({
    name: 'review_skill_proposal',
    description: 'Say what you think of a proposed change of a skill that you were given to review.',
    input,
    effect: 'idempotent',
    optIn: true,
    permission: { authoring: 'admin', safeToShare: false },
    timeoutMs: 120_000,
    async execute(verdict, { turn, signal }) {
      try {
        return toolResult({ status: await (await reviewer()).answer(verdict, turn, signal) });
      } catch (error) {
        if (codeOf(error, '') === '') throw error;
        return toolError(codeOf(error, 'tool_failed'), messageOf(error));
      }
    },
    present: (result) => (result.ok ? 'Reviewed a proposal' : `Error: ${result.error.message}`),
  });
}
