/** How a person answers what a tool asks. */
import type { TurnRequest } from 'pith';
import type { TestKernel, TurnOutcome } from 'pith/testing';

type Said = Parameters<TestKernel['kernel']['approvals']['answer']>[1]['answer'];

/** Answers the first question that is open. */
export async function answerFirst({ kernel }: Pick<TestKernel, 'kernel'>, answer: Said) {
  const [open] = await kernel.approvals.list();
  return kernel.approvals.answer(open!.id, { answer, by: 'ann' });
}

/** Answers the first question that is open, and goes on with the turn that waits for it. */
export async function answered(pith: TestKernel, answer: Said, request: Partial<TurnRequest> = {}): Promise<TurnOutcome> {
  await answerFirst(pith, answer);
  return pith.run('', { input: undefined, resume: true, ...request });
}
