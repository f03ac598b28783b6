import type { JsonValue } from '../../contract/plain-data.ts';
import { printable, printableLine } from '../../contract/printable.ts';
import type { CommandIO } from '../../contract/protocols/command-provider.ts';
import type { TurnEvent } from '../../contract/turn.ts';
import type { Approval } from '../../threads/approval.ts';
import type { Kernel } from '../../kernel-surface.ts';
import { approvalJson } from './approval-text.ts';

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
export async function goOn(kernel: Kernel, approval: Approval, isAttended: boolean, io: CommandIO, signal: AbortSignal): Promise<number> {
  const { rootThreadId: threadId, channelId } = approval;
  const tell = (continued: Continued, end: End | null = null) =>
    io.json({ ...(approvalJson(approval) as object), answer: approval.answer, reason: approval.reason, continued, end: endJson(end) });

  if (io.session?.threadId === threadId) return (tell('later'), 0); // the conversation goes on by itself
  const open = kernel.approvals.list(threadId);
  if (open.length > 0) {
    io.print(`The conversation still waits for ${open.map(({ id, tool }) => `${printableLine(tool)} (${id})`).join(', ')}`);
    return (tell('later'), 0);
  }
  if (kernel.threads.unfinished(threadId)?.turn.state !== 'awaiting_approval') return (tell('nowhere'), 0);
  const grace = isAttended ? ATTENDED_MS : channelId === TERMINAL ? 0 : SERVED_MS;
  if (grace > 0 && (await kernel.approvals.goesOn(threadId, grace, signal))) {
    io.print(`The conversation ${threadId} goes on where it is open`);
    return (tell('elsewhere'), 0);
  }
  const end = await goOnHere(kernel, threadId, approval.path[0]?.agentId ?? kernel.settings.default_agent, io, signal);
  tell('here', end);
  if (end?.reason === 'aborted') return 130;
  return end === null || end.reason === 'error' || end.reason === 'awaiting_approval' ? 1 : 0;
}

async function goOnHere(kernel: Kernel, threadId: string, agent: string, io: CommandIO, signal: AbortSignal): Promise<End | null> {
  let end: End | null = null;
  for await (const event of kernel.runTurn({ agent, threadId, resume: true }, signal)) {
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
