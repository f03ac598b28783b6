import { randomBytes } from 'node:crypto';
import { type Clock, codeOf, type Conversations, type Remote } from 'pith';
import type { Caller } from 'pith/http';
import { ulid } from 'ulid';
import { unknownThread } from '../route.ts';
import { type ApiTables, DAY_MS } from './tables.ts';

export type Conversation = NonNullable<Awaited<ReturnType<Conversations['find']>>>;

/** A thread that somebody may use; `conversation` is null before its first message. `title`: '' where it has none yet. */
export interface OwnedThread {
  readonly id: string;
  readonly userId: string;
  readonly title: string;
  readonly conversation: Conversation | null;
}

/** Whose the threads are that requests name. */
export class OwnedThreads {
  constructor(
    private readonly tables: ApiTables,
    private readonly clock: Clock,
    private readonly conversations: Remote<Conversations>,
  ) {}

  /** Rejects `thread_unknown`, also for the thread of somebody else. `all`: an administrator asks for anybody's. */
  async of(id: string, caller: Caller, all = false): Promise<OwnedThread> {
    const conversation = await this.conversations.find(id);
    const found = conversation ?? (await this.#begun(id));
    if (found === null || (found.userId !== caller.userId && !(all && caller.may === 'admin'))) throw unknownThread(id);
    return { id, userId: found.userId, title: found.title, conversation };
  }

  /** As `of`, of a thread that has a message. */
  async begun(id: string, caller: Caller, all = false): Promise<Conversation> {
    const { conversation } = await this.of(id, caller, all);
    if (conversation === null) throw unknownThread(id);
    return conversation;
  }

  /** A new id, which nobody else may use for a day. */
  async begin({ userId }: Caller): Promise<string> {
    for (;;) {
      const now = this.clock.now();
      const thread = `${ulid(now).toLowerCase().slice(2, 10)}-${randomBytes(4).toString('hex')}`;
      if ((await this.conversations.find(thread)) !== null) continue;
      try {
        await this.tables.write((db) => [
          db.deleteFrom('rest_api__begun').where('at', '<', now - DAY_MS),
          {
            query: db
              .insertInto('rest_api__begun')
              .values({ thread, user_id: userId, at: now })
              .onConflict((each) => each.doNothing()),
            changes: 1,
          },
        ]);
        return thread;
      } catch (error) {
        if (codeOf(error, '') !== 'write_conflict') throw error; // else somebody has that id: another is made
      }
    }
  }

  /** Of a thread without a message: what it will be called. */
  async name(thread: string, title: string): Promise<void> {
    await this.tables.write((db) => [db.updateTable('rest_api__begun').set({ title }).where('thread', '=', thread)]);
  }

  async #begun(thread: string): Promise<Pick<OwnedThread, 'userId' | 'title'> | null> {
    const since = this.clock.now() - DAY_MS;
    const row = await this.tables.first((db) =>
      db.selectFrom('rest_api__begun').select(['user_id', 'title']).where('thread', '=', thread).where('at', '>=', since),
    );
    return row === null ? null : { userId: row.user_id, title: row.title ?? '' };
  }
}
