import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import { printableLine } from '../../contract/printable.ts';
import { PithError } from '../../contract/errors.ts';
import { LOCAL_USER } from '../../agents/turn/open-turn.ts';
import type { Approval, ApprovalReply } from '../../threads/approval.ts';
import type { Kernel } from '../../kernel-surface.ts';
import { approvalJson, questionLines, startedText, timeOf } from './approval-text.ts';
import { goOn } from './go-on.ts';
import { colours, printTable } from './text.ts';

export async function listApprovals(kernel: Kernel, _input: CommandInput, io: CommandIO): Promise<void> {
  const open = kernel.approvals.list();
  io.json(open.map(approvalJson));
  printTable(
    io,
    open,
    [
      { title: 'QUESTION', value: ({ id }) => id },
      { title: 'TOOL', value: ({ tool }) => printableLine(tool) },
      { title: 'ASKED BY', value: ({ path }) => printableLine(path.map(({ agentId }) => agentId).join(' → ')) + startedText(path) },
      { title: 'CONVERSATION', value: ({ rootThreadId }) => printableLine(rootThreadId) },
      { title: 'OPEN UNTIL', value: ({ expiresAt }) => timeOf(expiresAt) },
    ],
    'Nothing waits for approval',
  );
  if (open.length > 0)
    io.print(colours(io).dim('See one: pith approvals show <question>; answer: pith approvals approve|reject <question>'));
}

export async function showApproval(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const approval = kernel.approvals.get(idOf(input)) ?? unknown(kernel, idOf(input));
  const { answer, reason, by } = approval;
  io.json({ ...(approvalJson(approval) as object), answer, reason, by });
  const colour = colours(io);
  const [title = '', ...lines] = questionLines(approval, input.options['all'] === true);
  io.print(colour.bold(title));
  for (const line of lines) io.print(line);
  if (answer !== null) io.print(`  ${saidLine(approval)}`);
}

export async function approve(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  return answer(kernel, input, io, { answer: input.options['always'] === true ? 'always' : 'once', by: LOCAL_USER }, signal);
}

export async function reject(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  const { reason } = input.options;
  const said = typeof reason === 'string' && reason.trim() !== '' ? { reason } : {};
  return answer(kernel, input, io, { answer: 'no', by: LOCAL_USER, ...said }, signal);
}

/** Waits for an answer, whoever gives it. */
export async function waitForAnswer(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<void> {
  const approval = kernel.approvals.get(idOf(input)) ?? unknown(kernel, idOf(input));
  const answered = await kernel.approvals.answered(approval, signal);
  const { id, tool, answer, reason, by } = answered;
  io.json({ id, tool, answer, reason, by });
  io.print(saidLine(answered));
}

async function answer(kernel: Kernel, input: CommandInput, io: CommandIO, reply: ApprovalReply, signal: AbortSignal): Promise<number> {
  const { approvals } = kernel;
  const asked = approvals.get(idOf(input));
  const isAttended = asked !== null && approvals.isAttended(asked.rootThreadId);
  const answered = await approvals.answer(idOf(input), reply);
  io.print(saidLine(answered));
  return goOn(kernel, answered, isAttended, io, signal);
}

function saidLine({ id, tool, answer, reason, by }: Approval): string {
  const what = `${printableLine(tool)} (${id})`;
  const why = reason === null ? '' : `: ${printableLine(reason)}`;
  if (answer === null) return `${what} waits for an answer`;
  if (by === null) return `${what} was not approved${why}`;
  const words = { once: 'approved once', always: 'approved always in this conversation', no: 'refused' };
  return `${what} ${words[answer]} by ${printableLine(by)}${why}`;
}

function idOf(input: CommandInput): string {
  return String(input.arguments['id']);
}

function unknown(kernel: Kernel, id: string): never {
  const open = kernel.approvals.list().map((each) => each.id);
  throw new PithError('approval_unknown', `there is no question '${id}'`, {
    where: id,
    cure: open.length === 0 ? 'nothing waits for approval now' : `open are ${open.slice(0, 10).join(', ')}`,
  });
}
