import type { Command } from 'pith';
import { localTime } from '@pith/command-line';
import type { ScheduleService } from './schedule-service.ts';
import { scheduleView, type Schedule } from './schedule.ts';

/** `pith tasks schedules …` and `/tasks schedules …`. */
export function scheduleCommands(service: ScheduleService): readonly Command[] {
  return [
    {
      path: 'tasks schedules list',
      description: 'List what agents are to do later',
      async run(_input, io) {
        const schedules = await service.list(null);
        io.json(schedules.map((each) => ({ ...scheduleView(each), user: each.by.user, made_by: each.by.agent })));
        io.print(schedules.length === 0 ? 'Nothing is scheduled. Ask an agent to do something later.' : schedules.map(lineOf).join('\n'));
      },
    },
    {
      path: 'tasks schedules cancel',
      description: 'Cancel one of them',
      arguments: [{ name: 'id', description: 'The schedule', required: true }],
      async run({ arguments: { id } }, io) {
        const cancelled = await service.cancel(String(id), null);
        io.json({ schedule_id: cancelled.id, cancelled: true });
        io.print(`Cancelled ${cancelled.id}: ${shortened(cancelled.message)}`);
      },
    },
  ];
}

function lineOf({ id, agentId, message, cron, timeZone, nextAt, last }: Schedule): string {
  const next = nextAt === null ? 'runs now' : localTime(nextAt);
  const when = cron === null ? next : `${next} (${cron}, ${timeZone})`;
  return `${id}  ${when}  ${agentId}  ${shortened(message)}${last === null ? '' : `  [last: ${last.reason}]`}`;
}

const SHOWN = 60;

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > SHOWN ? `${line.slice(0, SHOWN - 1)}…` : line;
}
