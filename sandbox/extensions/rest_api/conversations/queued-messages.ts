import { KeyedQueue } from '@pith/promises';
import { type Clock, PithError, type TurnRequest } from 'pith';
import type { ApiTables } from './tables.ts';

/** A turn that somebody asks for. */
export type AskedTurn = Pick<TurnRequest, 'agent' | 'input' | 'title' | 'attachments' | 'policy' | 'key' | 'resume'> &
  Readonly<Record<'threadId' | 'userId', string>>;

type KeyedTurn = AskedTurn & { readonly key: string };

/** What is kept, without what it says. */
export type KeptTurn = Readonly<Record<'threadId' | 'userId' | 'key', string>>;

/** `hasBegun`: its time had come when its process ended. */
type RestoredTurn = KeptTurn & { readonly hasBegun: boolean };

type Listener = (changed: Pick<KeptTurn, 'threadId' | 'userId'>) => void;

const MOST_IN_THREAD = 10;
const MOST_OF_USER = 50;
const MOST_BYTES_OF_USER = 64 * 1024 * 1024;

/**
 * What waits for its turn in a busy thread, in whichever process, so that the end of none loses it. Its key makes one that has begun already no
 * second turn.
 */
export class QueuedMessages {
  readonly #queue = new KeyedQueue();
  readonly #listeners = new Set<Listener>();

  constructor(
    private readonly tables: ApiTables,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Whose messages that wait are others than before, until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Rejects `limit_reached` where too much of the thread or the user waits. */
  async keep(asked: KeyedTurn): Promise<void> {
    const { threadId, userId } = asked;
    await this.#queue.run(userId, async () => {
      const row = await this.tables.first((db) =>
        db
          .selectFrom('rest_api__queued')
          .select(({ fn, eb }) => [
            fn.countAll().as('all'),
            fn.sum(eb.fn('length', ['asked'])).as('bytes'),
            fn.sum(eb.case().when('thread', '=', threadId).then(1).else(0).end()).as('here'),
          ])
          .where('user_id', '=', userId),
      );
      const size = JSON.stringify(asked).length;
      if (Number(row?.here ?? 0) >= MOST_IN_THREAD) throw tooMany(`${MOST_IN_THREAD} messages wait in this conversation`);
      if (Number(row?.all ?? 0) >= MOST_OF_USER) throw tooMany(`${MOST_OF_USER} messages of yours wait`);
      if (Number(row?.bytes ?? 0) + size > MOST_BYTES_OF_USER) throw tooMany('your messages that wait are too large together');
      await this.#write(asked);
    });
    this.#changed(asked);
  }

  /** The turn had begun when its process was stopped: it goes on before all that waits. */
  async keepBegun({ agent, threadId, userId, key }: KeyedTurn): Promise<void> {
    await this.#write({ agent, threadId, userId, key, resume: true });
  }

  /** The messages that wait in a thread, the oldest first. */
  async waiting(threadId: string): Promise<readonly { readonly key: string; readonly text: string }[]> {
    const rows = await this.tables.all((db) =>
      db
        .selectFrom('rest_api__queued')
        .select(({ fn, val }) => ['key', fn<string | null>('json_extract', ['asked', val('$.input')]).as('text')])
        .where('thread', '=', threadId)
        .where('resumes', '=', 0)
        .orderBy('place'),
    );
    return rows.map(({ key, text }) => ({ key, text: text ?? '' }));
  }

  /** Its time has come: from now on it is not taken back. null: it was. */
  async begin(kept: KeptTurn): Promise<AskedTurn | null> {
    const { threadId, key } = kept;
    const [found] = await this.tables.write((db) => [
      db.updateTable('rest_api__queued').set({ resumes: 1 }).where('thread', '=', threadId).where('key', '=', key),
    ]);
    if (found === 0) return null;
    this.#changed(kept);
    const row = await this.tables.first((db) =>
      db.selectFrom('rest_api__queued').select('asked').where('thread', '=', threadId).where('key', '=', key),
    );
    return row === null ? null : (JSON.parse(row.asked) as AskedTurn);
  }

  /** What it said; null: none of this key waits. */
  async takeBack(kept: KeptTurn): Promise<Pick<AskedTurn, 'input' | 'attachments'> | null> {
    const { threadId, key } = kept;
    const row = await this.tables.first((db) =>
      db.selectFrom('rest_api__queued').select('asked').where('thread', '=', threadId).where('key', '=', key),
    );
    const [taken] = await this.tables.write((db) => [
      db.deleteFrom('rest_api__queued').where('thread', '=', threadId).where('key', '=', key).where('resumes', '=', 0),
    ]);
    if (row === null || taken !== 1) return null;
    this.#changed(kept);
    return JSON.parse(row.asked) as AskedTurn;
  }

  /** The thread has it, or it cannot begin. */
  async drop(kept: KeptTurn): Promise<void> {
    const { threadId, key } = kept;
    await this.tables.write((db) => [db.deleteFrom('rest_api__queued').where('thread', '=', threadId).where('key', '=', key)]);
    this.#changed(kept);
  }

  /** What had begun first, then what waits, the oldest first. */
  async all(): Promise<readonly RestoredTurn[]> {
    const rows = await this.tables.all((db) =>
      db.selectFrom('rest_api__queued').select(['thread', 'user_id', 'key', 'resumes']).orderBy('resumes', 'desc').orderBy('place'),
    );
    return rows.map(({ thread, user_id, key, resumes }) => ({ threadId: thread, userId: user_id, key, hasBegun: resumes === 1 }));
  }

  #changed({ threadId, userId }: Parameters<Listener>[0]): void {
    for (const listener of this.#listeners) listener({ threadId, userId });
  }

  async #write(asked: KeyedTurn): Promise<void> {
    const { threadId: thread, userId: user_id, key, resume = false } = asked;
    await this.tables.write((db) => [
      db
        .insertInto('rest_api__queued')
        .values({ thread, key, user_id, resumes: resume ? 1 : 0, asked: JSON.stringify(asked), at: this.clock.now() })
        .onConflict((each) => each.doNothing()),
    ]);
  }
}

function tooMany(what: string): PithError {
  return new PithError('limit_reached', `this message was not taken: ${what} already`, {
    retryable: true,
    cure: 'wait for an answer, or take one back: DELETE /api/threads/{id}/waiting/{key}',
  });
}
