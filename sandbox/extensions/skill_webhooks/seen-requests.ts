import { createHash } from 'node:crypto';
import { ulid } from 'ulid';
import type { WebhookTables } from './tables.ts';

const REMEMBERED_MS = 24 * 3_600_000;

/** Signed requests of the last day, on disk: the id of each with the run that it started. */
export class SeenRequests {
  constructor(
    private readonly tables: WebhookTables,
    private readonly clock: { now(): number },
  ) {}

  /** The run that this request starts: the same for each time it comes within a day. */
  async runOf(skillId: string, id: string): Promise<string> {
    const tables = await this.tables();
    const now = this.clock.now();
    const request = createHash('sha256').update(`${skillId}\0${id}`).digest('hex');
    await tables.write((db) => [
      db.deleteFrom('skill_webhooks__seen').where('at', '<', now - REMEMBERED_MS),
      db
        .insertInto('skill_webhooks__seen')
        .values({ request, run_id: ulid(now), at: now })
        .onConflict((conflict) => conflict.doNothing()),
    ]);
    const row = await tables.first((db) => db.selectFrom('skill_webhooks__seen').select('run_id').where('request', '=', request));
    return row?.run_id ?? ulid(now);
  }

  /** Started nothing: it may come again. */
  async forget(skillId: string, id: string): Promise<void> {
    const request = createHash('sha256').update(`${skillId}\0${id}`).digest('hex');
    await (await this.tables()).write((db) => [db.deleteFrom('skill_webhooks__seen').where('request', '=', request)]);
  }
}
