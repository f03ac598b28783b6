/** How a person answers what a tool asks. */
import type { CommandIO, TurnRequest } from 'pith';
import type { TestKernel, TurnOutcome } from 'pith/testing';
import { kernelCommands } from '../core/cli/index.ts';

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

/** `pith approvals approve`, which goes on with the turn itself. Returns what it printed. */
export async function approve({ kernel }: Pick<TestKernel, 'kernel'>, question: string): Promise<string> {
  const command = kernelCommands(kernel).find(({ path }) => path === 'approvals approve');
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const io = { print, error: print, json: () => undefined, userId: 'local' } as unknown as CommandIO;
  await command?.run({ arguments: { question }, options: {} }, io, new AbortController().signal);
  return lines.join('\n');
}
