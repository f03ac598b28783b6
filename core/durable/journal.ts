import { PithError } from '../contract/errors.ts';
import type { Clock, PublishOptions } from '../contract/index.ts';
import type { Store } from '../store/store.ts';
import type { Statement } from '../store/writer.ts';

export interface WrittenEvent {
  readonly id: string;
  readonly topic: string;
  readonly payload: object;
  readonly handlers: readonly string[];
}

export interface JournalOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** `extension/method` of each handler that the manifests declare for an event. */
  handlers(topic: string, payload: object): readonly string[];
  /** Told of events that are on disk. Must not throw. */
  written(events: readonly WrittenEvent[]): void;
}

/** Durable events in `pith.db`: an event and its deliveries are one commit. */
export interface Journal {
  /** Resolves to the event's id when it is on disk; the events of one tick share a commit. */
  publish(topic: string, payload: object, options?: PublishOptions): Promise<string>;
  /** Writes an event in the transaction of `statement`, so that a row and its event are one commit. Returns its id; throws as `publish` rejects. */
  append(statement: Statement, topic: string, payload: object, options?: PublishOptions): number;
}

interface Waiting {
  readonly topic: string;
  readonly payload: object;
  readonly handlers: readonly string[];
  readonly key: string | null;
  readonly due: number;
  readonly row: readonly [topic: string, key: string | null, payload: string, correlation: string | null, at: number];
  readonly resolve: (id: string) => void;
  readonly reject: (error: unknown) => void;
}

/** Events of one write; more would hold the event loop too long. */
const MAX_BATCH = 1000;
const MAX_BATCH_LENGTH = 1_048_576;
/** Beyond these `publish` rejects. */
const MAX_WAITING = 100_000;
const MAX_KEY_LENGTH = 512;

const INSERT_EVENTS = `INSERT INTO events SELECT ? + key, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)`;
const INSERT_DELIVERIES = `INSERT INTO deliveries SELECT value ->> 0, ? + (value ->> 1), value ->> 2, value ->> 3, 0, NULL FROM json_each(?)`;

/**
 * Names without an underscore: no extension's prefix can reach them. A delivery that succeeded is deleted; `due` is 0 for one that
 * may run now, a time for one that waits (a timer or a retry), and -1 for a dead letter.
 */
const SCHEMA = [
  `CREATE TABLE events (
     id INTEGER PRIMARY KEY, topic TEXT NOT NULL, key TEXT, payload TEXT NOT NULL, correlation TEXT, at INTEGER NOT NULL
   );
   CREATE TABLE deliveries (
     handler TEXT NOT NULL, event INTEGER NOT NULL, key TEXT, due INTEGER NOT NULL, attempts INTEGER NOT NULL, error TEXT,
     PRIMARY KEY (handler, event)
   ) WITHOUT ROWID;
   CREATE INDEX deliverieswaiting ON deliveries (handler, due) WHERE due > 0;
   CREATE INDEX deliverieskeyed ON deliveries (handler, key, event) WHERE key IS NOT NULL;
   CREATE INDEX deliveriesdead ON deliveries (handler) WHERE due < 0;
   CREATE TABLE handlersgone (handler TEXT PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE schedules (
     name TEXT PRIMARY KEY, spec TEXT NOT NULL, next INTEGER NOT NULL, event INTEGER NOT NULL
   ) WITHOUT ROWID;`,
];

export function createJournal({ store, clock, handlers, written }: JournalOptions): Journal {
  store.migrate('journal', SCHEMA);
  let waiting: Waiting[] = [];
  let writing = false;

  /** One write at a time: what is published meanwhile shares the next one. */
  function flush(): void {
    writing = true;
    let batch: readonly Waiting[] = [];
    let first = 0;
    store
      .write((statement) => {
        batch = take();
        first = insert(store, statement, batch);
      })
      .then(
        () => {
          batch.forEach(({ resolve }, index) => resolve(String(first + index)));
          written(batch.map((event, index) => writtenOf(first + index, event)));
        },
        (error: unknown) => {
          for (const { reject } of batch.length > 0 ? batch : take()) reject(error);
        },
      )
      .finally(() => (waiting.length > 0 ? flush() : void (writing = false)));
  }

  function take(): readonly Waiting[] {
    let length = 0;
    const end = waiting.findIndex(({ row }, index) => index >= MAX_BATCH || (length += row[2].length) > MAX_BATCH_LENGTH);
    if (end > 0) return waiting.splice(0, end);
    const all = waiting;
    waiting = [];
    return all;
  }

  const prepared = (topic: string, payload: object, options: PublishOptions) => {
    const { at } = options;
    const key = options.key ?? null;
    checkOptions(topic, key, at);
    const now = clock.now();
    const text = payloadText(topic, payload);
    const row = [topic, key, text, options.correlationId ?? null, Math.max(now, Math.ceil(at ?? now))] as const;
    return { topic, payload, handlers: handlers(topic, payload), key, due: at !== undefined && at > now ? Math.ceil(at) : 0, row };
  };

  return {
    publish(topic, payload, options = {}) {
      return new Promise<string>((resolve, reject) => {
        if (waiting.length >= MAX_WAITING) throw tooMany(store.file);
        waiting.push({ ...prepared(topic, payload, options), resolve, reject });
        if (!writing) flush();
      });
    },
    append(statement, topic, payload, options = {}) {
      const event = prepared(topic, payload, options);
      const id = insertOne(statement, event);
      statement.onCommit(() => written([writtenOf(id, event)]));
      return id;
    },
  };
}

function writtenOf(id: number, { topic, payload, handlers }: Omit<Waiting, 'resolve' | 'reject'>): WrittenEvent {
  return { id: String(id), topic, payload, handlers };
}

/** Safe within a write: nobody else writes then. */
function nextId(store: Store): number {
  return 1 + Number(store.get('SELECT coalesce(max(id), 0) AS last FROM events')?.last);
}

type Prepared = Omit<Waiting, 'resolve' | 'reject'>;

/** Ids are given in the order of `events`, without a gap; returns the first. */
function insert(store: Store, statement: Statement, events: readonly Prepared[]): number {
  // Reading a list as JSON pays only when it is long.
  if (events.length <= FEW) return events.map((event) => insertOne(statement, event))[0] ?? 0;
  const first = nextId(store);
  const deliveries = events.flatMap(({ handlers, key, due }, index) => handlers.map((handler) => [handler, index, key, due]));
  statement(INSERT_EVENTS, first, JSON.stringify(events.map(({ row }) => row)));
  if (deliveries.length > 0) statement(INSERT_DELIVERIES, first, JSON.stringify(deliveries));
  return first;
}

/** SQLite gives the id: one more than the highest. */
function insertOne(statement: Statement, { row, handlers, key, due }: Prepared): number {
  const id = Number(statement('INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?)', ...row).lastInsertRowid);
  for (const handler of handlers) statement('INSERT INTO deliveries VALUES (?, ?, ?, ?, 0, NULL)', handler, id, key, due);
  return id;
}

const FEW = 3;

function tooMany(file: string): PithError {
  return new PithError('database_failed', `database ${file}: ${MAX_WAITING} events are waiting to be written`, {
    where: file,
    retryable: true,
    cure: 'wait for the promise of publish before publishing more',
  });
}

function checkOptions(topic: string, key: string | null, at: number | undefined): void {
  if (key !== null && (typeof key !== 'string' || key === '' || key.length > MAX_KEY_LENGTH || key.includes('\0'))) {
    throw new PithError('parameter_invalid', `the key of '${topic}' must be a text of 1 to ${MAX_KEY_LENGTH} characters`);
  }
  if (at !== undefined && !Number.isSafeInteger(Math.ceil(at))) {
    throw new PithError('parameter_invalid', `the time of '${topic}' must be milliseconds since the epoch`);
  }
}

const MAX_BYTES = 256 * 1024;
const DEEPEST = 100;

/** The payload of a durable topic as JSON. Throws `not_serialisable` for what would read back as something else, `parameter_invalid` for what is too long. */
function payloadText(topic: string, payload: unknown): string {
  check(payload, topic, 0);
  const text = JSON.stringify(payload);
  if (text.length * 3 > MAX_BYTES && Buffer.byteLength(text) > MAX_BYTES) {
    throw new PithError('parameter_invalid', `the payload of '${topic}' is longer than 256 KiB`, {
      cure: 'keep the text in a table or a file and publish where it is',
    });
  }
  return text;
}

function check(value: unknown, path: string, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (!Number.isFinite(value)) throw refused(path, 'is not finite');
      return;
    case 'object':
      if (value !== null) checkParts(value, path, depth);
      return;
    default:
      throw refused(path, `is ${typeof value}`);
  }
}

function checkParts(value: object, path: string, depth: number): void {
  if (depth > DEEPEST) throw refused(path.slice(0, 200), 'is a cycle or too deep');
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) value.forEach((part, index) => check(part, `${path}.${index}`, depth + 1));
  else if (prototype === Object.prototype || prototype === null) {
    for (const key in value) {
      const part = (value as Record<string, unknown>)[key];
      if (part !== undefined) check(part, `${path}.${key}`, depth + 1);
    }
  } else throw refused(path, 'is not a plain object');
}

function refused(path: string, why: string): PithError {
  return new PithError('not_serialisable', `${path} ${why}, which is not JSON`, {
    cure: 'publish text, numbers, booleans, null, lists and plain objects',
  });
}
