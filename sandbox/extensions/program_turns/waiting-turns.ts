import { migrated, Queries, type Migration } from '@pith/database-queries';
import { canonicalJson, sha256 } from '@pith/plain-data';
import type { ExtensionContext } from 'pith';
import type { TurnInput } from './turn-input.ts';

export interface WaitingTurn {
  /** Of the turn in its thread. */
  readonly key: string;
  /** Of the message that the turn answers. */
  readonly message: string;
}

interface Tables {
  program_turns__waiting: WaitingTurn & { readonly thread: string; readonly at: number };
}

const MIGRATIONS: readonly Migration[] = [
  [
    'CREATE TABLE program_turns__waiting (thread text PRIMARY KEY, key text NOT NULL, message text NOT NULL, at bigint NOT NULL)',
    'CREATE INDEX program_turns__waiting_at ON program_turns__waiting (at)',
  ],
];

const KEPT_MS = 30 * 24 * 3_600_000;

/**
 * The turns of the last 30 days that ended with a question, until their programs are told how they went on: whoever answers may go on with
 * them meanwhile.
 */
export class WaitingTurns {
  readonly #tables: Queries<Tables>;

  constructor(
    database: ExtensionContext['database'],
    private readonly clock: Pick<ExtensionContext['clock'], 'now'>,
  ) {
    this.#tables = new Queries(migrated(database, 'program_turns', MIGRATIONS));
  }

  /** The one of a thread; null: there is none. */
  async find(thread: string): Promise<WaitingTurn | null> {
    const since = this.clock.now() - KEPT_MS;
    return this.#tables.first((db) =>
      db.selectFrom('program_turns__waiting').select(['key', 'message']).where('thread', '=', thread).where('at', '>=', since),
    );
  }

  async keep(thread: string, { key, message }: WaitingTurn): Promise<void> {
    const at = this.clock.now();
    await this.#tables.write((db) => [
      db.deleteFrom('program_turns__waiting').where((each) => each.or([each('at', '<', at - KEPT_MS), each('thread', '=', thread)])),
      db.insertInto('program_turns__waiting').values({ thread, key, message, at }),
    ]);
  }

  /** `until`: what was kept then or before; absent: whatever is kept. */
  async forget(thread: string, until = Number.MAX_SAFE_INTEGER): Promise<void> {
    await this.#tables.write((db) => [db.deleteFrom('program_turns__waiting').where('thread', '=', thread).where('at', '<=', until)]);
  }
}

export function messageDigest(message: TurnInput['message']): string {
  return sha256(canonicalJson(message));
}
