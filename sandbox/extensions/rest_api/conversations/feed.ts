import { randomBytes } from 'node:crypto';
import { oncePromised, untilAborted } from '@pith/promises';
import { HEARTBEAT_MS, sentEvent } from '@pith/server-answers';
import { codeOf, type Conversations, type ExtensionContext, messageOf, type Remote } from 'pith';
import { savedRescheduled } from 'pith/saved_skills';
import { scheduleChanged } from 'pith/scheduler';
import { skillsChanged } from 'pith/skill_registry';
import type { Caller } from 'pith/http';
import { changedJobs } from './changed-jobs.ts';
import type { LiveTurns } from './live-turns.ts';
import { type Frame, Outbox } from './outbox.ts';
import type { QueuedMessages } from './queued-messages.ts';
import type { RunningElsewhere } from './running-elsewhere.ts';
import { type ApiTables, DAY_MS, markOf } from './tables.ts';

export interface FeedPorts {
  readonly tables: ApiTables;
  readonly context: Pick<ExtensionContext, 'clock' | 'events' | 'find' | 'id' | 'logger'>;
  readonly conversations: Remote<Conversations>;
  readonly turns: Pick<LiveTurns, 'listen'>;
  readonly queued: Pick<QueuedMessages, 'listen'>;
  readonly elsewhere: Pick<RunningElsewhere, 'cutOff'>;
}

/** What changed: not what it is now, which its reader asks for. `userId` null: it is nobody's own. */
interface Change {
  readonly kind: 'thread' | 'approval' | 'notice' | 'agent' | 'extension' | 'skill' | 'proposal' | 'job' | 'schedule';
  /** Of an approval: its thread. Empty: any of them may have changed; always so of jobs, and of agents and skills, of which not everybody knows each. */
  readonly id: string;
  readonly userId: string | null;
}

interface PlacedChange extends Omit<Change, 'kind'> {
  readonly kind: string;
  readonly place: number;
}

/** Who reads, by their token. */
type Reader = Pick<Caller, 'userId' | 'may'>;

interface Subscriber {
  readonly reader: Reader;
  readonly outbox: Outbox;
}

/** What only tokens of administrators are shown: so are the routes that say more of it. */
const FOR_ADMINISTRATORS: ReadonlySet<string> = new Set<Change['kind']>(['extension', 'proposal']);
/** What tokens of administrators are shown of everybody, and others their own: so are the routes that list it. */
const WORK: ReadonlySet<string> = new Set<Change['kind']>(['job', 'schedule']);

const LOOK_MS = 500;
/** Of what waits for one reader. */
const MOST_BYTES = 4 * 1024 * 1024;
const PAGE = 200;

/** The journal of what changed in the last day, and those who read it. Each process adds to it; one that serves also takes over what changed in conversations and jobs, and reads what others added. */
export class Feed {
  readonly #subscribers = new Set<Subscriber>();
  /** Of this journal: an id of another database's is unknown. */
  readonly #name = oncePromised(() => markOf(this.ports.tables, 'feed', () => randomBytes(4).toString('hex')));
  /** Whether `run` runs. */
  #isServing = false;
  /** The place up to which subscribers were notified. */
  #notified = 0;
  /** What is not in the journal yet. */
  readonly #added: Change[] = [];
  #looking: Promise<void> = Promise.resolve();
  /** The look that has not begun. */
  #next: Promise<void> | null = null;
  #subscribed: () => void = () => undefined;
  #begin: () => void = () => undefined;
  /** Once what changed before this process is told. */
  readonly #begun = new Promise<void>((resolve) => {
    this.#begin = resolve;
  });

  constructor(private readonly ports: FeedPorts) {}

  /** Keeps what changes until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { context, turns, queued } = this.ports;
    const { events, clock, logger } = context;
    const everybody = (kind: Change['kind'], id: string): void => void this.add([{ kind, id, userId: null }]).catch(failed);
    const ofOne = (kind: Change['kind'], id: string, userId: string): void => void this.add([{ kind, id, userId }]).catch(failed);
    const failed = (error: unknown): void => logger.warn('a change was not kept', { reason: messageOf(error) });
    const offs = [
      turns.listen((userId, frame) => this.#notify({ kind: 'thread', userId }, frame)),
      queued.listen(({ threadId, userId }) => ofOne('thread', threadId, userId)),
      ...(['extension.activated', 'extension.failed', 'extension.reloaded', 'extension.stopped'] as const).map((topic) =>
        events.handle(topic, ({ extensionId }) => everybody('extension', extensionId)),
      ),
      events.handle('agent.changed', () => everybody('agent', '')),
      events.handle(skillsChanged, () => everybody('skill', '')),
      events.handle(scheduleChanged, ({ scheduleId, userId }) => ofOne('schedule', scheduleId, userId)),
      events.handle(savedRescheduled, ({ skillId, userId }) => ofOne('schedule', skillId, userId)),
    ];
    this.#isServing = true;
    try {
      // What changed before this process is not known one by one.
      await this.add((['extension', 'agent', 'skill', 'thread'] as const).map((kind) => ({ kind, id: '', userId: null }))).catch(failed);
      this.#begin();
      while (!signal.aborted) {
        await this.#look().catch(failed);
        await (this.#subscribers.size > 0 ? clock.sleep(LOOK_MS, signal) : this.#somebody(signal)).catch(() => undefined); // it ends
      }
    } finally {
      this.#isServing = false;
      for (const off of offs) off();
    }
  }

  /**
   * What the user may see, behind the place that `last` names; without it, from now on. `ready` names the present place; `reset` says that
   * what came before is not known: the reader asks for its state, and goes on from there. Both say whose events these are.
   */
  async *events(reader: Reader, last: string | undefined, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const subscriber = { reader, outbox: new Outbox(MOST_BYTES) };
    this.#subscribers.add(subscriber);
    this.#subscribed();
    const { events: published, id } = this.ports.context;
    published.publish('channel.opened', { extensionId: id });
    try {
      await untilAborted(this.#begun, signal);
      await this.#look();
      const name = await this.#name();
      const known = await this.#placeOf(name, last);
      let sent = known ?? this.#notified;
      yield sentEvent(
        { userId: reader.userId },
        { event: known === null && last !== undefined ? 'reset' : 'ready', id: `${name}-${sent}` },
      );
      for (let page = await this.#after(sent); page.length > 0; page = await this.#after(sent))
        for (const change of page) {
          sent = change.place;
          if (maySee(reader, change)) yield frameOf(name, change).bytes;
        }
      for (;;) {
        const next = await subscriber.outbox.next(this.ports.context.clock, HEARTBEAT_MS, signal);
        if (next === 'ended') return;
        if (next === 'over') return yield sentEvent({}, { event: 'reset', id: `${name}-${this.#notified}` });
        if (next === 'idle') yield sentEvent({}, { event: 'heartbeat' });
        else for (const { place, bytes } of next) if (place === undefined || place > sent) yield bytes;
      }
    } finally {
      this.#subscribers.delete(subscriber);
    }
  }

  /** The place of the last event. Who reads the state next, and then the events after this place, misses nothing. */
  async present(): Promise<string> {
    return `${await this.#name()}-${await this.#newest()}`;
  }

  /** Conversations that were deleted since a process that served looked last, and are still gone. Before `run`. */
  async removed(): Promise<ReadonlySet<string>> {
    const ids = new Set<string>();
    for (let since = await this.#seen(); since !== null;) {
      const { place, threads } = await this.ports.conversations.changes(since);
      for (const { id, removed } of threads) if (removed) ids.add(id);
      since = threads.length === 0 ? null : place;
    }
    return ids;
  }

  /** Whether a page or a program of this user reads this process's events now. */
  isRead(by: string): boolean {
    return [...this.#subscribers].some(({ reader }) => reader.userId === by);
  }

  /** Writes these down; where this process serves it also notifies of them. Another one looks at nothing: what was deleted meanwhile is for `removed`. */
  add(changes: readonly Change[]): Promise<void> {
    if (!this.#isServing) return this.#write(changes, []);
    this.#added.push(...changes);
    return this.#look();
  }

  /** Takes over what changed in conversations, and notifies of all that is new. One look at a time; all who ask meanwhile share the next one. */
  #look(): Promise<void> {
    this.#next ??= this.#looking
      .catch(() => undefined) // whoever asked for that look got it
      .then(() => {
        this.#looking = this.#next ?? this.#looking;
        this.#next = null;
        return this.#lookNow(this.#added.splice(0));
      });
    return this.#next;
  }

  async #lookNow(others: readonly Change[]): Promise<void> {
    const { conversations } = this.ports;
    if (others.length > 0) await this.#write(others, []);
    for (let isAll = false; !isAll;) {
      const seen = await this.#seen();
      const { place, threads } = await conversations.changes(seen);
      if (seen !== null && place < seen) await this.#write([{ kind: 'thread', id: '', userId: null }], seenUpTo('seen', seen, place)); // another database
      else if (place !== seen) await this.#write(threads.flatMap(changesOf), seenUpTo('seen', seen, place));
      isAll = threads.length === 0;
    }
    const cutOff = await this.ports.elsewhere.cutOff();
    if (cutOff.length > 0) await this.#write(cutOff.map(threadChange), []);
    await this.#lookAtJobs();
    await this.#notifyNew();
  }

  /** The place of conversations up to which the journal has what changed; null: none was looked at yet. */
  async #seen(): Promise<number | null> {
    const mark = await this.ports.tables.first((db) => db.selectFrom('rest_api__marks').select('value').where('name', '=', 'seen'));
    return mark === null ? null : Number(mark.value);
  }

  async #lookAtJobs(): Promise<void> {
    for (;;) {
      const mark = await this.ports.tables.first((db) => db.selectFrom('rest_api__marks').select('value').where('name', '=', 'jobs'));
      const seen = mark === null ? null : Number(mark.value);
      const found = await changedJobs(this.ports.context, seen);
      if (found === null || found.number === seen) return;
      const { number, owners } = found;
      await this.#write(
        owners.map((userId) => ({ kind: 'job', id: '', userId })),
        seenUpTo('jobs', seen, number),
      );
      if (owners.length === 0) return;
    }
  }

  /** Another process that took over the same changes was quicker: nothing is written. */
  async #write(changes: readonly Change[], marks: readonly Statement[]): Promise<void> {
    const at = this.ports.context.clock.now();
    const newest = '(SELECT max(place) FROM rest_api__feed)';
    try {
      await this.ports.tables.write((db) => [
        ...marks,
        ...changes.map(({ kind, id, userId }) => db.insertInto('rest_api__feed').values({ at, kind, id, user_id: userId })),
        { sql: `DELETE FROM rest_api__feed WHERE at < ? AND place < ${newest}`, values: [at - DAY_MS] }, // the newest names the present place
      ]);
    } catch (error) {
      if (codeOf(error, '') !== 'write_conflict') throw error;
    }
  }

  async #notifyNew(): Promise<void> {
    if (this.#notified === 0) {
      this.#notified = await this.#newest();
      return;
    }
    const name = await this.#name();
    for (let page = await this.#after(this.#notified); page.length > 0; page = await this.#after(this.#notified)) {
      this.#notified = page.at(-1)?.place ?? this.#notified;
      for (const change of page) this.#notify(change, frameOf(name, change));
    }
  }

  #notify(change: Pick<PlacedChange, 'kind' | 'userId'>, frame: Frame): void {
    for (const { reader, outbox } of this.#subscribers) if (maySee(reader, change)) outbox.add(frame);
  }

  async #after(place: number): Promise<readonly PlacedChange[]> {
    const rows = await this.ports.tables.all((db) =>
      db.selectFrom('rest_api__feed').select(['place', 'kind', 'id', 'user_id']).where('place', '>', place).orderBy('place').limit(PAGE),
    );
    return rows.map(({ place: at, kind, id, user_id }) => ({ place: Number(at), kind, id, userId: user_id }));
  }

  async #newest(): Promise<number> {
    const row = await this.ports.tables.first((db) => db.selectFrom('rest_api__feed').select(({ fn }) => fn.max('place').as('place')));
    return Number(row?.place ?? 0);
  }

  /** null: it names no place from which all that followed is still here. */
  async #placeOf(name: string, last: string | undefined): Promise<number | null> {
    const [, of, digits] = /^(\w+)-(\d{1,15})$/u.exec(last ?? '') ?? [];
    if (of !== name || digits === undefined) return null;
    const place = Number(digits);
    const row = await this.ports.tables.first((db) => db.selectFrom('rest_api__feed').select(({ fn }) => fn.min('place').as('place')));
    return place <= this.#notified && place >= Number(row?.place ?? 1) - 1 ? place : null;
  }

  #somebody(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#subscribed = () => {
        signal.removeEventListener('abort', this.#subscribed);
        resolve();
      };
      signal.addEventListener('abort', this.#subscribed, { once: true });
    });
  }
}

function maySee({ userId, may }: Reader, change: Pick<PlacedChange, 'kind' | 'userId'>): boolean {
  const isAdmin = may === 'admin'; // of a person who is one, a lesser token is not
  if (FOR_ADMINISTRATORS.has(change.kind)) return isAdmin;
  return change.userId === userId || (WORK.has(change.kind) ? isAdmin : change.userId === null);
}

type Statement = { readonly sql: string; readonly values: readonly string[]; readonly changes: number };

function seenUpTo(mark: 'seen' | 'jobs', before: number | null, place: number): readonly Statement[] {
  const sql =
    before === null
      ? 'INSERT INTO rest_api__marks (value, name) VALUES (?, ?) ON CONFLICT (name) DO NOTHING'
      : 'UPDATE rest_api__marks SET value = ? WHERE name = ? AND value = ?';
  return [{ sql, values: [String(place), mark, ...(before === null ? [] : [String(before)])], changes: 1 }];
}

function threadChange({ id, userId }: Pick<Change, 'id' | 'userId'>): Change {
  return { kind: 'thread', id, userId };
}

function changesOf({ id, userId, asked }: { readonly id: string; readonly userId: string; readonly asked: boolean }): readonly Change[] {
  const thread = threadChange({ id, userId });
  return asked ? [thread, { kind: 'approval', id, userId }] : [thread];
}

function frameOf(name: string, { place, kind, id }: PlacedChange): Frame {
  return { place, bytes: sentEvent({ kind, id }, { event: 'changed', id: `${name}-${place}` }) };
}
