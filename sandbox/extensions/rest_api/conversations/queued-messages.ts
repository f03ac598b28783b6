import { randomUUID } from 'node:crypto';
import type { TurnRequest } from 'pith';
import type { ApiTables } from './tables.ts';

/** A turn that somebody asks for. */
export type AskedTurn = Pick<TurnRequest, 'agent' | 'input' | 'attachments' | 'policy' | 'key' | 'resume'> &
  Readonly<Record<'threadId' | 'userId', string>>;

/** What waits for its turn in a busy thread, so that the end of this process does not lose it. Its key makes one that has begun already no second turn. */
export class QueuedMessages {
  constructor(private readonly tables: ApiTables) {}

  /** What is asked, with the key by which it is kept. */
  async keep(asked: AskedTurn): Promise<AskedTurn & { readonly key: string }> {
    const kept = { ...asked, key: asked.key ?? randomUUID() };
    const { threadId: thread, key } = kept;
    await this.tables.write((db) => [
      db
        .insertInto('rest_api__queued')
        .values({ thread, key, asked: JSON.stringify(kept) })
        .onConflict((each) => each.doNothing()),
    ]);
    return kept;
  }

  async drop({ threadId, key = '' }: AskedTurn): Promise<void> {
    await this.tables.write((db) => [db.deleteFrom('rest_api__queued').where('thread', '=', threadId).where('key', '=', key)]);
  }

  /** Oldest first. */
  async all(): Promise<readonly AskedTurn[]> {
    const rows = await this.tables.all((db) => db.selectFrom('rest_api__queued').select('asked').orderBy('place'));
    return rows.map(({ asked }) => JSON.parse(asked) as AskedTurn);
  }
}
