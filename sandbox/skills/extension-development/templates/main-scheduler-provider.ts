import type { Delivery, ExtensionContext, TopicMap } from 'pith';

export default class MyScheduler {
  constructor(private readonly context: ExtensionContext) {}

  /** At least once for each time; runs that were missed collapse to one. A throw is tried again. */
  async daily({ at }: TopicMap['schedule.due'], delivery: Delivery): Promise<void> {
    const { kv, logger } = this.context;
    if ((await kv.get('done')) === delivery.id) return; // delivered twice, after a crash
    logger.info('the daily work is done', { due: at });
    await kv.set('done', delivery.id);
  }
}
