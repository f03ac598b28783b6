import { defineTool, toolError, toolResult, z, type Clock, type Tool, type ToolCall, type ToolResult } from 'pith';
import type { ScheduleService, ScheduleRequest } from './schedule-service.ts';
import { scheduleView } from './schedule-view.ts';
import { afterSpan, isTimeZone, localTimeZone, momentOf, nextRun } from './times.ts';

const message = z
  .string()
  .trim()
  .min(1)
  .max(4000)
  .describe('The message that the agent gets at that time. It does not see this conversation.');
const agent = z.string().min(1).optional().describe('Another agent that you may call; default yourself.');

export function scheduleTools(service: ScheduleService, clock: Clock): readonly Tool[] {
  return [once(service, clock), recurring(service, clock), list(service, clock), cancel(service)];
}

function once(service: ScheduleService, clock: Clock): Tool {
  return defineTool({
    name: 'schedule_once',
    description: 'Runs an agent once at a later time; its answer reaches the user as a notice. Give either at or in.',
    input: z.strictObject({
      message,
      at: z.string().optional().describe('A time with its zone: 2026-03-01T09:00:00+01:00.'),
      in: z.string().optional().describe('A span from now: 90s, 10m, 2h, 3d.'),
      agent_id: agent,
    }),
    effect: 'idempotent',
    async execute({ message: text, at, in: span, agent_id: agentId }, call) {
      if ((at === undefined) === (span === undefined)) return toolError('tool_input_invalid', "give either 'at' or 'in'");
      const now = clock.now();
      const time = at === undefined ? afterSpan(String(span), now) : momentOf(at, now);
      if (typeof time !== 'number') return toolError('tool_input_invalid', time.problem);
      return made({ service, clock }, { agentId, message: text, at: time, cron: null, timeZone: null }, call);
    },
  });
}

function recurring(service: ScheduleService, clock: Clock): Tool {
  return defineTool({
    name: 'schedule_recurring',
    description: 'Runs an agent again and again by a cron expression, until it is cancelled; each answer reaches the user as a notice.',
    input: z.strictObject({
      message,
      cron: z.string().describe('minute hour day month weekday: "0 9 * * MON-FRI".'),
      time_zone: z.string().optional().describe('Such as Europe/Vienna; default that of this computer.'),
      agent_id: agent,
    }),
    effect: 'idempotent',
    needsApproval: ({ cron, agent_id: agentId }, turn) => ({
      text: `runs the agent '${agentId ?? turn.agent.id}' at ${cron}, again and again, until the schedule is cancelled`,
      once: true,
    }),
    async execute({ message: text, cron, time_zone: zone, agent_id: agentId }, call) {
      if (zone !== undefined && !isTimeZone(zone)) return toolError('tool_input_invalid', `there is no time zone '${zone}'`);
      const timeZone = zone ?? localTimeZone();
      const time = nextRun(cron, timeZone, clock.now());
      if (typeof time !== 'number') return toolError('tool_input_invalid', time.problem);
      return made({ service, clock }, { agentId, message: text, at: null, cron, timeZone }, call);
    },
  });
}

function list(service: ScheduleService, clock: Clock): Tool {
  return defineTool({
    name: 'list_schedules',
    description: 'Lists what is scheduled for this user.',
    input: z.strictObject({}),
    effect: 'read',
    execute: async (_input, { turn }) => ({ schedules: (await service.list(turn.userId)).map((each) => scheduleView(each, clock.now())) }),
  });
}

function cancel(service: ScheduleService): Tool {
  return defineTool({
    name: 'cancel_schedule',
    description: 'Cancels one of list_schedules.',
    input: z.strictObject({ schedule_id: z.string().min(1) }),
    effect: 'idempotent',
    async execute({ schedule_id: id }, { turn }) {
      const { message: text } = await service.cancel(id, turn.userId);
      return toolResult({ schedule_id: id, cancelled: true, message: text }, { title: `Cancelled ${id}` });
    },
  });
}

async function made(
  { service, clock }: { readonly service: ScheduleService; readonly clock: Clock },
  request: ScheduleRequest,
  call: ToolCall,
): Promise<ToolResult> {
  const view = scheduleView(await service.make(request, call), clock.now());
  return toolResult(view, { title: `Scheduled for ${view.next}` });
}
