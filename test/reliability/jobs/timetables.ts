import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { extensionFiles } from '../../journeys/sandbox-files.ts';
import type { User } from './harness.ts';

/** Two timetables, one of its manifest and one that it makes; each tick is a line. */
const TICKER = `
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { defineTool, toolResult, z, type ExtensionContext } from 'pith';

export default class {
  constructor(private readonly context: ExtensionContext) {
    context.jobs.define('tick', async () => this.tell('job'));
  }
  async declared() {
    this.tell('declared');
  }
  getTools() {
    return [defineTool({
      name: 'tick_hourly', description: 'Ticks.', effect: 'idempotent', needsApproval: false, input: z.object({ cron: z.string() }),
      execute: async ({ cron }) => toolResult((await this.context.jobs.schedule('hourly', { cron, name: 'tick' })) ?? null),
    })];
  }
  private tell(text: string) {
    appendFileSync(path.join(this.context.dataDirectory, 'ticks'), text + '\\n');
  }
}
`;

const HALF_HOUR_MS = 30 * 60_000;

interface Seen {
  readonly expected: number;
  readonly ticks: Readonly<Record<'job' | 'declared' | 'skill', number>>;
}

interface Timetables extends User<Seen> {
  /** The clock passes some of their times, which collapse to one. */
  passed(): void;
}

/** Timetables of all kinds, once an hour and not within half an hour of the start. */
export function timetables(): Timetables {
  const cron = `${new Date(Date.now() + HALF_HOUR_MS).getMinutes()} * * * *`;
  let expected = 0;
  return {
    files: {
      'files/ticking.yml': JSON.stringify({ system_prompt: 'You are the ticking one.' }),
      ...extensionFiles('ticker', {
        provides: ['tool'],
        main: TICKER,
        manifest: { jobs: [{ name: 'tick' }], schedules: [{ name: 'declared', cron, handler: 'declared' }] },
      }),
    },
    reply: ({ messages }) => (JSON.stringify(messages[0]).includes('the ticking one') ? { text: 'done' } : undefined),
    async prepare({ told, called, sandbox }) {
      await told(['saved', 'new', 'ticking', '--file', path.join(sandbox, 'files/ticking.yml')]);
      await told(['saved', 'schedule', 'ticking', cron]);
      await called('tick_hourly', { cron });
    },
    passed: () => void (expected += 1),
    begin: async () => undefined,
    async see({ told, sandbox }) {
      const file = path.join(sandbox, 'data/extensions/ticker/ticks');
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
      const runs = await told<readonly { readonly state: string }[]>(['runs', 'list', '--skill', 'ticking', '--limit', '1000']);
      const count = (text: string) => lines.filter((line) => line === text).length;
      return {
        expected,
        ticks: { job: count('job'), declared: count('declared'), skill: runs.filter(({ state }) => state === 'ok').length },
      };
    },
    isOver: ({ expected: all, ticks }) => Object.values(ticks).every((count) => count >= all),
    wrong: ({ expected: all, ticks }) =>
      Object.entries(ticks).flatMap(([kind, count]) =>
        count === all ? [] : [`the timetable of a ${kind} ticked ${count} times, not ${all}`],
      ),
  };
}
