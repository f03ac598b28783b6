import { type Command, type ExtensionContext, Permissions } from 'pith';
import { type ActingUser, localTime, PAGE_OPTIONS, pageOf } from '@pith/command-line';
import type { ScheduleStore } from './schedule-store.ts';
import { nextOf, type Schedule, scheduleView, threadOf } from './schedule.ts';

/** `pith tasks schedules …` and `/tasks schedules …`. */
export function scheduleCommands(store: ScheduleStore, { clock, use }: Pick<ExtensionContext, 'clock' | 'use'>): readonly Command[] {
  /** null: an administrator, who sees everybody's. */
  const whose = async ({ userId, asAdmin }: ActingUser) => ((asAdmin ?? (await use(Permissions).isAdmin(userId))) ? null : userId);
  return [
    {
      path: 'tasks schedules list',
      description: 'List the schedules of agents',
      options: PAGE_OPTIONS,
      async run(input, io) {
        const schedules = pageOf(
          await store.list(await whose(io)),
          input,
          (name) =>
            ({ id }) =>
              id === name,
        );
        io.json(schedules.map((each) => shown(each, clock.now())));
        io.print(
          schedules.length === 0
            ? 'Nothing is scheduled. Ask an agent to do something later.'
            : schedules.map((each) => lineOf(each, clock.now(), io.userId)).join('\n'),
        );
      },
    },
    {
      path: 'tasks schedules cancel',
      description: 'Cancel a schedule',
      arguments: [{ name: 'id', description: 'The schedule', required: true }],
      async run({ arguments: { id } }, io) {
        const cancelled = await store.cancel(String(id), await whose(io));
        io.json({ schedule_id: cancelled.id, cancelled: true });
        io.print(`Cancelled ${cancelled.id}: ${shortened(cancelled.message)}`);
      },
    },
  ];
}

/** With who asked for it, and where its last run worked. */
function shown(schedule: Schedule, now: number) {
  const { by, last } = schedule;
  return {
    ...scheduleView(schedule, now),
    user: by.user,
    made_by: by.agent,
    last_thread: last === null ? null : threadOf(schedule, last.at),
  };
}

function lineOf(schedule: Schedule, now: number, own: string): string {
  const { id, by, agentId, message, cron, timeZone, last } = schedule;
  const at = nextOf(schedule, now);
  const next = at === null ? 'is due' : localTime(at);
  const when = cron === null ? next : `${next} (${cron}, ${timeZone})`;
  const who = by.user === own ? '' : `  for ${by.user}`;
  return `${id}  ${when}${who}  ${agentId}  ${shortened(message)}${last === null ? '' : `  [last: ${last.reason}${last.error === undefined ? '' : `, ${shortened(last.error)}`}]`}`;
}

const SHOWN = 60;

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > SHOWN ? `${line.slice(0, SHOWN - 1)}…` : line;
}
