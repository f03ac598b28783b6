import { localTime, spanOf } from '@pith/command-line';
import { localZone, nextCronTime } from '@pith/cron-times';
import { sha256 } from '@pith/plain-data';
import { didYouMean } from '@pith/plain-text';
import {
  defineTool,
  type ExtensionContext,
  PithError,
  toolResult,
  z,
  type Tool,
  type ToolCall,
  type ToolResult,
  type TurnInfo,
  type TurnPolicy,
} from 'pith';
import type { ScheduleStore } from './schedule-store.ts';
import { type Schedule, scheduleView } from './schedule.ts';

type Ports = Pick<ExtensionContext, 'agents' | 'clock'>;
/** What is scheduled, and when. */
type Wanted = Pick<Schedule, 'message' | 'at' | 'cron' | 'timeZone'> & { readonly agentId: string | undefined };

const message = z
  .string()
  .trim()
  .min(1)
  .max(4000)
  .describe('The message that the agent gets at that time. It does not see this conversation.');
const agent = z.string().min(1).optional().describe('Another agent that you may call; default yourself.');

export function scheduleTools(store: ScheduleStore, ports: Ports): readonly Tool[] {
  const { clock } = ports;
  const made = async (wanted: Wanted, call: ToolCall): Promise<ToolResult> => {
    const now = clock.now();
    const view = scheduleView(await store.add(await scheduleOf(wanted, call, ports)), now);
    return toolResult(view, { title: `Scheduled for ${view.next === null ? 'never' : localTime(Date.parse(view.next), now)}` });
  };
  return [
    defineTool({
      name: 'schedule_once',
      description: 'Runs an agent once at a later time; its answer reaches the user as a notice. Give either at or in.',
      input: z.strictObject({
        message,
        at: z.string().optional().describe('A time with its zone: 2026-03-01T09:00:00+01:00.'),
        in: z.string().optional().describe('A span from now: 90s, 10m, 2h, 3d.'),
        agent_id: agent,
      }),
      effect: 'idempotent',
      permission: { authoring: 'admin', safeToShare: false },
      async execute({ message: text, at, in: span, agent_id: agentId }, call) {
        if ((at === undefined) === (span === undefined)) throw invalid("give either 'at' or 'in'");
        const time = at === undefined ? afterSpan(String(span), clock.now()) : momentOf(at, clock.now());
        return made({ agentId, message: text, at: time, cron: null, timeZone: null }, call);
      },
    }),
    defineTool({
      name: 'schedule_recurring',
      description: 'Runs an agent again and again by a cron expression, until it is cancelled; each answer reaches the user as a notice.',
      input: z.strictObject({
        message,
        cron: z.string().describe('minute hour day month weekday: "0 9 * * MON-FRI".'),
        time_zone: z.string().optional().describe('Such as Europe/Vienna; default: this computer’s.'),
        agent_id: agent,
      }),
      effect: 'idempotent',
      permission: { authoring: 'admin', safeToShare: false },
      needsApproval: ({ cron, agent_id: agentId }, turn) => ({
        text: `runs the agent '${agentId ?? turn.agent.id}' at ${cron}, again and again, until the schedule is cancelled`,
        once: true,
      }),
      async execute({ message: text, cron, time_zone: timeZone = localZone(), agent_id: agentId }, call) {
        const next = nextCronTime(cron, timeZone, clock.now());
        if (typeof next !== 'number') throw invalid(next.problem, next.cure);
        return made({ agentId, message: text, at: null, cron, timeZone }, call);
      },
    }),
    defineTool({
      name: 'list_schedules',
      description: 'Lists what is scheduled for this user.',
      input: z.strictObject({}),
      effect: 'read',
      permission: { authoring: 'anyone', safeToShare: false },
      execute: async (_input, { turn }) => ({ schedules: (await store.list(turn.userId)).map((each) => scheduleView(each, clock.now())) }),
    }),
    defineTool({
      name: 'cancel_schedule',
      description: 'Cancels one of list_schedules.',
      input: z.strictObject({ schedule_id: z.string().min(1) }),
      effect: 'idempotent',
      permission: { authoring: 'admin', safeToShare: false },
      async execute({ schedule_id: id }, { turn }) {
        const { message: text } = await store.cancel(id, turn.userId);
        return toolResult({ schedule_id: id, cancelled: true, message: text }, { title: `Cancelled ${id}` });
      },
    }),
  ];
}

function invalid(problem: string, cure?: string): PithError {
  return new PithError('tool_input_invalid', problem, { cure });
}

const LONGEST_MS = 366 * 86_400_000;

/** A moment with its zone, such as `2026-03-01T09:00:00+01:00` or `…Z`. */
function momentOf(text: string, now: number): number {
  const at = /T.*(?:Z|[+-]\d\d:?\d\d)$/.test(text.trim()) ? Date.parse(text.trim()) : NaN;
  if (Number.isNaN(at)) throw invalid(`'${text}' is not a time with its zone, such as 2026-03-01T09:00:00Z`);
  return within(at, text, now);
}

/** A span from now, such as `10m`, `2h` or `3d`. */
function afterSpan(text: string, now: number): number {
  const span = spanOf(text);
  if (span === null) throw invalid(`'${text}' is not a span such as 90s, 10m, 2h or 3d`);
  return within(now + span, text, now);
}

function within(at: number, text: string, now: number): number {
  if (at <= now) throw invalid(`'${text}' is over`);
  if (at - now > LONGEST_MS) throw invalid(`'${text}' is more than a year away`);
  return Math.ceil(at);
}

/** The same for the same call, so that one which is repeated makes no second schedule. Rejects for an agent that may not be called. */
async function scheduleOf(wanted: Wanted, { turn, idempotencyKey }: ToolCall, ports: Ports): Promise<Schedule> {
  const { agent: maker, userId, channelId, threadId, correlationId } = turn;
  const agentId = wanted.agentId ?? maker.id;
  await checkAgent(agentId, turn, ports);
  return {
    ...wanted,
    id: sha256(idempotencyKey).slice(0, 10),
    agentId,
    open: [],
    last: null,
    createdAt: ports.clock.now(),
    by: { agent: maker.id, user: userId, channel: channelId, thread: threadId },
    correlationId,
    policy: policyOf(agentId, turn),
    nextAt: null,
  };
}

async function checkAgent(id: string, { agent: maker }: TurnInfo, { agents }: Ports): Promise<void> {
  if (maker.origin === null) {
    throw new PithError('not_allowed', `'${maker.id}' was made at run time and may be gone by then`, {
      cure: 'let the agent that made it schedule the work',
    });
  }
  if (id === maker.id) return;
  const known = (await agents.list()).map((each) => each.id);
  const callable = known.filter((name) => maker.delegatesTo.includes(name) || maker.delegatesTo.includes('*'));
  if (callable.includes(id)) return;
  throw new PithError('agent_unknown', `there is no agent '${id}' that '${maker.id}' may call${didYouMean(id, callable)}`, {
    cure: `leave agent_id out${callable.length === 0 ? '' : `, or use one of ${callable.join(', ')}`}`,
  });
}

/**
 * The turn's own agent gets no tool later that it lacks now. Another agent has its own tools, without those that this turn was denied or
 * its starter may not have.
 */
function policyOf(agentId: string, { agent: maker, tools, policy = {} }: TurnInfo): TurnPolicy {
  if (agentId === maker.id) return { ...policy, allowTools: tools };
  const { denyTools, startedBy } = policy;
  return { ...(denyTools === undefined ? {} : { denyTools }), ...(startedBy === undefined ? {} : { startedBy }) };
}
