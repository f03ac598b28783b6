import type { Clock, TurnEvent } from 'pith';
import type { ApiTables } from './tables.ts';

type TurnEnd = Extract<TurnEvent, { type: 'turn-end' }>;

/** A turn that was to answer, and did not. */
interface UnansweredEnd {
  readonly turn: string;
  readonly reason: TurnEnd['reason'];
  readonly error: NonNullable<TurnEnd['error']> | null;
}

/** Turns that failed, were stopped or reached a limit: of each thread the last one that this API ran. */
export class TurnEnds {
  constructor(
    private readonly tables: ApiTables,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** `turn` ended now: what was kept of its thread is over. */
  async keep(thread: string, turn: string, { reason, error }: TurnEnd): Promise<void> {
    if (reason === 'done' || reason === 'awaiting_approval') {
      if ((await this.#last(thread)) !== null)
        await this.tables.write((db) => [db.deleteFrom('rest_api__ends').where('thread', '=', thread)]);
      return;
    }
    const at = this.clock.now();
    const ended = JSON.stringify({ turn, reason, error: error ?? null } satisfies UnansweredEnd);
    await this.tables.write((db) => [
      db
        .insertInto('rest_api__ends')
        .values({ thread, ended, at })
        .onConflict((each) => each.column('thread').doUpdateSet({ ended, at })),
    ]);
  }

  /** null: `turn`, the thread's last one, is not known to have ended without an answer. */
  async of(thread: string, turn: string): Promise<UnansweredEnd | null> {
    const last = await this.#last(thread);
    return last?.turn === turn ? last : null;
  }

  async #last(thread: string): Promise<UnansweredEnd | null> {
    const row = await this.tables.first((db) => db.selectFrom('rest_api__ends').select('ended').where('thread', '=', thread));
    return row === null ? null : (JSON.parse(row.ended) as UnansweredEnd);
  }
}
