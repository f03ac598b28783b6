import { ulid } from 'ulid';
import { sha256 } from '@pith/plain-data';
import type { WebhookTables } from './tables.ts';

const REMEMBERED_MS = 24 * 3_600_000;

/** Signed requests of the last day, on disk: the id of each with the run that it started. */
export class SeenRequests {
  constructor(
    private readonly tables: WebhookTables,
    private readonly clock: { now(): number },
  ) {}

  /** The run of a request that came within the last day; null: it is new. */
  async find(skillId: string, id: string): Promise<string | null> {
    const tables = await this.tables();
    const since = this.clock.now() - REMEMBERED_MS;
    const row = await tables.first((db) =>
      db.selectFrom('skill_webhooks__seen').select('run_id').where('request', '=', digestOf(skillId, id)).where('at', '>=', since),
    );
    return row?.run_id ?? null;
  }

  /** Remembers a new request, and names the run that it starts: the same one for all that add it at once. */
  async add(skillId: string, id: string): Promise<string> {
    const tables = await this.tables();
    const now = this.clock.now();
    const run_id = ulid(now);
    await tables.write((db) => [
      db.deleteFrom('skill_webhooks__seen').where('at', '<', now - REMEMBERED_MS),
      db
        .insertInto('skill_webhooks__seen')
        .values({ request: digestOf(skillId, id), run_id, at: now })
        .onConflict((conflict) => conflict.doNothing()),
    ]);
    return (await this.find(skillId, id)) ?? run_id;
  }
}

function digestOf(skillId: string, id: string): string {
  return sha256(`${skillId}\0${id}`);
}
