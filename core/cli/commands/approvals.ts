import type { CommandInput, CommandIO, JsonValue, TurnEvent } from '../../contract/index.ts';
import { countOption } from '@pith/command-line';
import { printable, printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { approvalJson, questionLines, SCREEN_LINES } from './approval-text.ts';
import { colours, printTable, timeOf, whoColumn } from './text.ts';
import { type Approval, type ApprovalAnswer, askersText, coversOf, summaryOf, unknownApproval } from '../../agent/index.ts';
import { LOCAL_USER } from '../../declarations/index.ts';

/** Lists open questions; given a question, shows it or its answer. */
export async function approvals(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<void> {
  countOption(input, 'lines', SCREEN_LINES);
  if (input.arguments['question'] === undefined) return listApprovals(kernel, input, io);
  return input.options['wait'] === true ? waitForAnswer(kernel, input, io, signal) : showApproval(kernel, input, io);
}

export async function listApprovals(kernel: Kernel, _input: CommandInput, io: CommandIO): Promise<void> {
  const open = await kernel.approvals.list();
  io.json(open.map((approval) => openJson(kernel, approval)));
  printTable(
    io,
    open,
    [
      { title: '#', value: ({ number }) => String(number) },
      { title: 'QUESTION', value: (approval) => printableLine(summaryOf(approval)) },
      whoColumn(io, open),
      { title: 'ASKED BY', value: ({ path }) => askersText(path) },
      { title: 'CONVERSATION', value: ({ rootThreadId }) => printableLine(rootThreadId) },
      { title: 'OPEN UNTIL', value: ({ expiresAt }) => timeOf(expiresAt) },
    ],
    'No questions are open',
  );
  const [first] = open;
  if (first === undefined) return;
  const { number: name } = first;
  io.print(colours(io).dim(`See one: pith approvals ${name}; answer: pith approvals approve ${name} or pith approvals reject ${name}`));
}

export async function showApproval(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const approval = await named(kernel, input);
  const { answer, reason, by, expiresAt } = approval;
  io.json({ ...openJson(kernel, approval), answer, reason, by });
  const colour = colours(io);
  const inChat = io.session !== undefined && io.interactive;
  const most = input.options['all'] === true ? Infinity : countOption(input, 'lines', SCREEN_LINES);
  const wholeBy = inChat ? 'v' : `pith approvals ${approval.number} --all`;
  for (const line of questionLines(approval, { most, wholeBy, colour, columns: io.interactive ? io.columns : Infinity })) io.print(line);
  if (approval.userId !== io.userId) io.print(`  in a conversation of ${printableLine(approval.userId)}`);
  if (answer !== null) return io.print(`  ${answerLine(approval)}`);
  if (inChat) return; // the question below shows the rest
  const covers = coversOf(approval);
  io.print(`  ${covers === null ? 'always is not offered: Pith asks about every such call' : `always covers: ${covers}`}`);
  io.print(colour.dim(`  question ${approval.number} (${approval.id}), open until ${timeOf(expiresAt)}`));
}

/** `ships`: the tool is shipped with Pith. `answers`: the accepted answers. */
function openJson({ approvals }: Kernel, approval: Approval) {
  return { ...approvalJson(approval), ships: approval.ships, answers: [...approvals.offered(approval)] };
}

export async function approve(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  const choice = input.options['project'] === true ? 'project' : input.options['always'] === true ? 'always' : 'once';
  return answer({ kernel, io, signal }, await named(kernel, input), choice);
}

export async function reject(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  const { reason } = input.options;
  return answer({ kernel, io, signal }, await named(kernel, input), 'no', typeof reason === 'string' ? reason.trim() : '');
}

/** Waits for anybody's answer. */
export async function waitForAnswer(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<void> {
  const approval = await named(kernel, input);
  const answered = await kernel.approvals.waitFor(approval, signal);
  const { id, tool, answer, reason, by } = answered;
  io.json({ id, tool, answer, reason, by });
  io.print(answerLine(answered));
}

interface Place {
  readonly kernel: Kernel;
  readonly io: CommandIO;
  readonly signal: AbortSignal;
}

async function answer(place: Place, { id, rootThreadId }: Approval, choice: ApprovalAnswer, reason = ''): Promise<number> {
  const { approvals } = place.kernel;
  const isAwaited = await approvals.isAwaited(rootThreadId);
  const answered = await approvals.answer(id, { answer: choice, by: place.io.userId, ...(reason === '' ? {} : { reason }) });
  place.io.print(answerLine(answered));
  return goOn(place, answered, isAwaited);
}

/** `Refused "run `npm test`": wrong day`; names who answered, unless it was this person. */
function answerLine(approval: Approval): string {
  const { answer, reason, by } = approval;
  const summary = printableLine(summaryOf(approval));
  const what = `${summary[0]?.toUpperCase() ?? ''}${summary.slice(1)}`;
  const why = reason === null ? '' : `: ${printableLine(reason)}`;
  if (answer === null) return `Open: ${summary}`;
  if (by === null) return `Not approved: ${summary}${why}`;
  const words = { once: 'allowed once', always: 'allowed always in this chat', project: 'allowed always in this project', no: 'refused' };
  return `${what}: ${words[answer]}${by === LOCAL_USER ? '' : ` by ${printableLine(by)}`}${why}`;
}

/** Finds it by its number while it is open, or by its id. Rejects `approval_unknown`. */
async function named({ approvals }: Kernel, input: CommandInput): Promise<Approval> {
  const name = String(input.arguments['question']);
  const open = await approvals.list();
  const found = /^\d+$/u.test(name) ? open.find(({ number }) => number === Number(name)) : await approvals.get(name);
  if (found) return found;
  throw unknownApproval(name, open);
}

/** How long an open conversation, or a service, has to continue by itself. */
const ATTENDED_MS = 3_000;
const SERVED_MS = 1_500;
const TERMINAL = 'cli';

type Continued = 'here' | 'elsewhere' | 'later' | 'nowhere';
type End = Extract<TurnEvent, { type: 'turn-end' }>;

/**
 * Continues the conversation that waited for this answer: in the process that shows it if there is one, else here, printing the agent's
 * answer. A conversation with further open questions waits for those. Exit code 1 when the turn fails.
 */
async function goOn(place: Place, approval: Approval, isAwaited: boolean): Promise<number> {
  const { kernel, io, signal } = place;
  const { rootThreadId: threadId, channelId } = approval;
  const printResult = (continued: Continued, end: End | null = null) =>
    io.json({ ...approvalJson(approval), answer: approval.answer, reason: approval.reason, continued, end: endJson(end) });

  if (io.session?.threadId === threadId) return (printResult('later'), 0); // the conversation continues by itself
  const open = await kernel.approvals.list(threadId);
  if (open.length > 0) {
    io.print(`The conversation still waits for: ${open.map((each) => `${each.number} ${printableLine(summaryOf(each))}`).join(', ')}`);
    return (printResult('later'), 0);
  }
  if ((await kernel.threads.unfinished(threadId))?.turn.state !== 'awaiting_approval') return (printResult('nowhere'), 0);
  const grace = isAwaited ? ATTENDED_MS : channelId === TERMINAL ? 0 : SERVED_MS;
  if (grace > 0 && (await kernel.approvals.isContinued(threadId, grace, signal))) {
    io.print(`The conversation ${threadId} continues where it is open`);
    return (printResult('elsewhere'), 0);
  }
  const end = await goOnHere(place, threadId, approval.path[0]?.agentId ?? kernel.settings.default_agent);
  printResult('here', end);
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
        `Allow? ${printableLine(event.summary ?? event.tool)}: see pith approvals ${event.id}, answer pith approvals approve ${event.id}`,
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
