import { canonicalJson, sha256 } from '@pith/plain-data';
import type { Clock, JsonValue } from 'pith';
import type { ApiTables } from './tables.ts';

/** The keys of messages, as long as their threads are there: one key is one message. */
export class UsedKeys {
  constructor(
    private readonly tables: ApiTables,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Whether the key is new in the thread, or was used for the same message. */
  async isFor(thread: string, key: string, message: JsonValue): Promise<boolean> {
    const digest = sha256(canonicalJson(message));
    await this.tables.write((db) => [
      db
        .insertInto('rest_api__keys')
        .values({ thread, key, digest, at: this.clock.now() })
        .onConflict((each) => each.doNothing()),
    ]);
    const used = await this.tables.first((db) =>
      db.selectFrom('rest_api__keys').select('digest').where('thread', '=', thread).where('key', '=', key),
    );
    return used?.digest === digest;
  }
}
