import { ulid } from 'ulid';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { Conversations, PithError, z, type TurnEvent, type TurnRequest } from 'pith';
import { shownEvent } from 'pith/http';
import { didYouMean, printableLine } from '@pith/plain-text';
import { CHANNEL } from './served.ts';
import { servedTool, type CallInfo, type ServedTool, type ToolPorts } from './served-tool.ts';

/** What the names of threads begin with that calls began. */
const THREADS = `${CHANNEL}-`;

const NOT_BEGUN = { type: 'text', text: 'The task was not begun: call again with it.' } as const;

/** Hands a task to an agent, in a thread of its own. Each of its calls passes the gate, as in a chat. */
export function delegateTask(ports: ToolPorts): ServedTool {
  const { agent } = ports.served;
  return servedTool({
    name: 'delegate_task',
    description: `Hands a task to an agent here and returns its answer. It sees only what you write, and works in this project with its own tools and permissions.`,
    isReadOnly: false,
    input: z.object({
      task: z.string().trim().min(1).optional().describe('What to do, and what to answer with.'),
      agent: z.string().default(agent.id).describe('The agent.'),
      thread: z
        .string()
        .optional()
        .describe('Goes on in the thread of an earlier call. Without a task: after a person answered its question.'),
    }),
    async call({ task, agent: id, thread }, about) {
      await requireReached(ports, id);
      if (thread !== undefined && !(await isOwn(ports, thread)))
        throw new PithError('thread_unknown', `there is no thread '${printableLine(thread, 100)}'`, { cure: 'leave it out' });
      if (task === undefined && thread === undefined)
        throw new PithError('input_invalid', 'there is neither a task nor a thread to go on in', { cure: 'say what to do in task' });
      const asked = { agent: id, task, thread: thread ?? `${THREADS}${ulid()}` };
      if (task === undefined || !(await isAnswered(ports, asked.thread))) return turn(ports, asked, about);
      const before = await turn(ports, { ...asked, task: undefined }, about); // what a person allowed is done first
      if (before.structuredContent.reason !== 'done') return { ...before, content: [...before.content, NOT_BEGUN] };
      const answer = await turn(ports, asked, about);
      return { ...answer, content: [...before.content, ...answer.content] };
    },
  });
}

/** A thread of another person is as unknown as none, and so is one that no call began. */
async function isOwn({ context, served }: ToolPorts, thread: string): Promise<boolean> {
  return thread.startsWith(THREADS) && (await context.use(Conversations).find(thread))?.userId === served.userId;
}

/** Whether a person has answered its questions, and nobody has gone on with it since. */
async function isAnswered({ context }: ToolPorts, threadId: string): Promise<boolean> {
  const conversations = context.use(Conversations);
  const found = await conversations.find(threadId);
  return found?.state === 'awaiting_approval' && (await conversations.questions({ threadId })).length === 0;
}

/** The served agent, and those to which it hands tasks itself and that the person reaches. */
async function requireReached({ served: { agent, agents } }: ToolPorts, id: string): Promise<void> {
  if (id === agent.id) return;
  const known = (await agents()).map((each) => each.id);
  const callable = known.filter((each) => agent.delegatesTo.includes(each) || agent.delegatesTo.includes('*'));
  if (callable.includes(id)) return;
  const ids = [agent.id, ...callable];
  throw new PithError('agent_unknown', `there is no agent '${printableLine(id)}' here${didYouMean(id, ids)}`, {
    cure: `one of ${ids.join(', ')}`,
  });
}

interface Task {
  readonly agent: string;
  readonly task: string | undefined;
  readonly thread: string;
}

type EndedTask = CallToolResult & {
  /** `reason`: how the turn ended. */
  readonly structuredContent: { readonly thread: string; readonly reason: string; readonly approvals: readonly string[] };
};

async function turn(
  { context, served, hide }: ToolPorts,
  { agent, task, thread }: Task,
  { signal, progress }: CallInfo,
): Promise<EndedTask> {
  const asked = { agent, threadId: thread, channelId: CHANNEL, userId: served.userId };
  const what = task === undefined ? { resume: true, ...(await lastTurn(context, thread)) } : { input: task };
  const questions: Extract<TurnEvent, { type: 'approval-request' }>[] = [];
  for await (const run of context.agents.run({ ...asked, ...what }, signal)) {
    const event = shownEvent(run, hide);
    if (event.type === 'notice' && event.code === 'nothing_to_resume')
      throw new PithError('usage', 'nothing in this thread is left to go on with', { cure: 'say what to do next in task' });
    if (event.type === 'tool-call') await progress(`${agent} calls ${event.name}`);
    if (event.type === 'step-end') await progress(`${agent}: step ${event.step + 1}`);
    if (event.type === 'approval-request') questions.push(event);
    if (event.type !== 'turn-end') continue;
    return resultOf(event, questions, thread);
  }
  throw new PithError('aborted', `'${agent}' was stopped before it began`, { cure: 'call it again' });
}

/** The turn that a call without a task goes on with. Where whoever answered its question has ended it, its answer is told. */
async function lastTurn({ use }: ToolPorts['context'], thread: string): Promise<Pick<TurnRequest, 'key'>> {
  const [last] = await use(Conversations).messages(thread, { limit: 1 });
  return last === undefined || last.turnId === '' ? {} : { key: last.turnId }; // a summary has none
}

/** `structuredContent` says for programs how the turn ended. A question is a normal end: a person answers it, never this client. */
function resultOf(
  { reason, text, error }: Extract<TurnEvent, { type: 'turn-end' }>,
  questions: readonly Extract<TurnEvent, { type: 'approval-request' }>[],
  thread: string,
): EndedTask {
  const lines = [
    ...(text === '' ? [] : [text]),
    ...questions.map(
      ({ id, summary, tool }) => `${waits(summary ?? tool)} answer it with: pith approvals approve ${id} or pith approvals reject ${id}`,
    ),
    ...(questions.length === 0 ? [] : [`Then call delegate_task with thread "${thread}" and no task: it goes on where it stopped.`]),
    ...(error === undefined ? [] : [`${reason === 'limit' ? 'It stopped early' : 'It failed'}: ${error.message}`]),
  ];
  return {
    content: [{ type: 'text', text: lines.join('\n') || `It ended: ${reason}.` }],
    structuredContent: { thread, reason, approvals: questions.map(({ id }) => id) },
    ...(reason === 'error' || reason === 'aborted' ? { isError: true } : {}),
  };
}

function waits(what: string): string {
  return `It waits for a person to approve: ${printableLine(what, 200)};`;
}
