import { z, type ExtensionContext, type ServiceProvider } from 'pith';

const DAY_MS = 86_400_000;
const config = z.strictObject({ at: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 03:00') });

export default class MyScheduler implements ServiceProvider {
  static config = config;

  constructor(private readonly context: ExtensionContext<z.infer<typeof config>>) {}

  async runBackground(signal: AbortSignal): Promise<void> {
    const { clock, kv } = this.context;
    while (!signal.aborted) {
      const last = z
        .number()
        .catch(0)
        .parse(await kv.get('last'));
      const due = lastDue(clock.now(), this.context.config.at);
      if (last < due) {
        // Runs that were missed collapse to one. Written down afterwards: a crash repeats the work instead of losing it.
        await this.#work(signal);
        await kv.set('last', due);
      }
      try {
        await clock.sleep(Math.max(1000, due + DAY_MS - clock.now()), signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  async #work(_signal: AbortSignal): Promise<void> {
    this.context.logger.info('the daily work is done');
  }
}

/** The latest time of day `at` (UTC) that is not after `now`. */
function lastDue(now: number, at: string): number {
  const [hours = 0, minutes = 0] = at.split(':').map(Number);
  const today = Math.floor(now / DAY_MS) * DAY_MS + (hours * 60 + minutes) * 60_000;
  return today <= now ? today : today - DAY_MS;
}
