import type { CommandInput, CommandIO, JsonValue, TurnEvent } from '../../contract/index.ts';
import { printable, printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { approvalJson, questionLines, startedText } from './approval-text.ts';
import { colours, printTable, timeOf } from './text.ts';
import { type Approval, type ApprovalReply, unknownApproval, LOCAL_USER } from '../../agent/index.ts';

export async function listApprovals(kernel: Kernel, _input: CommandInput, io: CommandIO): Promise<void> {
  const open = await kernel.approvals.list();
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
  const approval = (await kernel.approvals.get(idOf(input))) ?? (await unknown(kernel, input));
  const { answer, reason, by } = approval;
  io.json({ ...approvalJson(approval), answer, reason, by });
  const colour = colours(io);
  const [title = '', ...lines] = questionLines(approval, input.options['all'] === true);
  io.print(colour.bold(title));
  for (const line of lines) io.print(line);
  if (answer !== null) io.print(`  ${saidLine(approval)}`);
}

export async function approve(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  return answer({ kernel, io, signal }, idOf(input), { answer: input.options['always'] === true ? 'always' : 'once', by: LOCAL_USER });
}

export async function reject(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  const { reason } = input.options;
  const said = typeof reason === 'string' && reason.trim() !== '' ? { reason } : {};
  return answer({ kernel, io, signal }, idOf(input), { answer: 'no', by: LOCAL_USER, ...said });
}

/** Waits for an answer, whoever gives it. */
export async function waitForAnswer(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<void> {
  const approval = (await kernel.approvals.get(idOf(input))) ?? (await unknown(kernel, input));
  const answered = await kernel.approvals.waitFor(approval, signal);
  const { id, tool, answer, reason, by } = answered;
  io.json({ id, tool, answer, reason, by });
  io.print(saidLine(answered));
}

interface Place {
  readonly kernel: Kernel;
  readonly io: CommandIO;
  readonly signal: AbortSignal;
}

async function answer(place: Place, id: string, reply: ApprovalReply): Promise<number> {
  const { approvals } = place.kernel;
  const asked = await approvals.get(id);
  const isAwaited = asked !== null && (await approvals.isAwaited(asked.rootThreadId));
  const answered = await approvals.answer(id, reply);
  place.io.print(saidLine(answered));
  return goOn(place, answered, isAwaited);
}

function saidLine({ id, tool, answer, reason, by }: Approval): string {
  const what = `${printableLine(tool)} (${id})`;
  const why = reason === null ? '' : `: ${printableLine(reason)}`;
  if (answer === null) return `${what} waits for an answer`;
  if (by === null) return `${what} was not approved${why}`;
  const words = {
    once: 'approved once',
    always: 'approved always in this conversation',
    project: 'approved always in this project',
    no: 'refused',
  };
  return `${what} ${words[answer]} by ${printableLine(by)}${why}`;
}

async function unknown(kernel: Kernel, input: CommandInput): Promise<never> {
  throw unknownApproval(idOf(input), await kernel.approvals.list());
}

function idOf(input: CommandInput): string {
  return String(input.arguments['id']);
}

/** How long an open conversation, or a service that works on it, has to go on by itself. */
const ATTENDED_MS = 3_000;
const SERVED_MS = 1_500;
const TERMINAL = 'cli';

type Continued = 'here' | 'elsewhere' | 'later' | 'nowhere';
type End = Extract<TurnEvent, { type: 'turn-end' }>;

/**
 * Goes on with the conversation that waited for this answer: in the process that shows it where one does, else here, printing what is said.
 * A conversation with further open questions waits for those. Exit code 1 when the turn fails.
 */
async function goOn(place: Place, approval: Approval, isAwaited: boolean): Promise<number> {
  const { kernel, io, signal } = place;
  const { rootThreadId: threadId, channelId } = approval;
  const tell = (continued: Continued, end: End | null = null) =>
    io.json({ ...approvalJson(approval), answer: approval.answer, reason: approval.reason, continued, end: endJson(end) });

  if (io.session?.threadId === threadId) return (tell('later'), 0); // the conversation goes on by itself
  const open = await kernel.approvals.list(threadId);
  if (open.length > 0) {
    io.print(`The conversation still waits for ${open.map(({ id, tool }) => `${printableLine(tool)} (${id})`).join(', ')}`);
    return (tell('later'), 0);
  }
  if ((await kernel.threads.unfinished(threadId))?.turn.state !== 'awaiting_approval') return (tell('nowhere'), 0);
  const grace = isAwaited ? ATTENDED_MS : channelId === TERMINAL ? 0 : SERVED_MS;
  if (grace > 0 && (await kernel.approvals.isContinued(threadId, grace, signal))) {
    io.print(`The conversation ${threadId} goes on where it is open`);
    return (tell('elsewhere'), 0);
  }
  const end = await goOnHere(place, threadId, approval.path[0]?.agentId ?? kernel.settings.default_agent);
  tell('here', end);
  if (end?.reason === 'aborted') return 130;
  return end === null || end.reason === 'error' || end.reason === 'awaiting_approval' ? 1 : 0;
}

async function goOnHere({ kernel, io, signal }: Place, threadId: string, agent: string): Promise<End | null> {
  let end: End | null = null;
  for await (const event of kernel.agents.run({ agent, threadId, resume: true }, signal)) {
    if (event.type === 'tool-result' && !io.quiet)
      io.error(`${event.ok ? '✓' : '✗'} ${printableLine(event.line ?? event.title ?? event.name)}`);
    if (event.type === 'notice' && !io.quiet) io.error(event.message);
    if (event.type === 'approval-request')
      io.error(
        `${printableLine(event.tool)} needs your approval: pith approvals show ${event.id}, then pith approvals approve ${event.id}`,
      );
    if (event.type === 'turn-end') end = event;
  }
  if (end === null) return null;
  if (end.text !== '') io.print(printable(end.text));
  if (end.error) io.error(`pith: ${end.error.message}`);
  return end;
}

function endJson(end: End | null): JsonValue {
  return end === null ? null : { reason: end.reason, text: end.text };
}
