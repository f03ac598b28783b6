import type { JobRows, JobTables } from '../../../../core/durable/index.ts';

type Row = NonNullable<ReturnType<JobRows['get']>>;
type Filter = Parameters<JobRows['count']>[0];
type Except = Parameters<JobRows['readyAlone']>[2];
type Hold = Parameters<JobRows['putHold']>[0];
type Schedule = Parameters<JobRows['putSchedule']>[0];
type Lane = Parameters<JobRows['heads']>[0];

/** What is kept besides jobs; each value is replaced, never changed. */
interface Kept {
  readonly waits: readonly { readonly waiter: string; readonly target: string }[];
  readonly notes: ReadonlyMap<string, ReturnType<JobRows['notes']>>;
  readonly served: readonly { readonly name: string; readonly lane: string; readonly owner: string | null; readonly turn: number }[];
  readonly holds: readonly Hold[];
  readonly schedules: readonly Schedule[];
  readonly number: number;
}

const EMPTY: Kept = { waits: [], notes: new Map(), served: [], holds: [], schedules: [], number: 0 };

/** Jobs in memory, for tests: each query looks at all rows. Several stores may share it, as processes share a file. */
export function createMemoryTables(): JobTables & { rows(): readonly Row[] } {
  const rows = new MemoryRows();
  let revision = 0;
  return {
    read: async (look) => look(rows),
    async write(change) {
      const undo = rows.undo();
      try {
        return change(rows);
      } catch (error) {
        undo();
        throw error;
      } finally {
        revision += 1;
      }
    },
    revision: async () => revision,
    rows: () => rows.all(() => true),
  };
}

class MemoryRows implements JobRows {
  #jobs = new Map<string, Row>();
  kept = EMPTY;

  /** What puts all back. */
  undo(): () => void {
    const { kept } = this;
    const jobs = new Map(this.#jobs);
    return () => {
      this.kept = kept;
      this.#jobs = jobs;
    };
  }

  /** The oldest first. */
  all(where: (row: Row) => boolean): Row[] {
    return [...this.#jobs.values()].filter(where).toSorted((one, other) => one.number - other.number);
  }

  get(id: string): Row | null {
    return this.#jobs.get(id) ?? null;
  }

  put(row: Row): void {
    const isTaken = (other: Row): boolean => other.id !== row.id && (other.number === row.number || isSameUnique(row, other));
    if ((row.unique !== null || this.get(row.id) === null) && this.all(isTaken).length > 0)
      throw new Error(`the number or the unique of row ${row.id} is another's`);
    this.#jobs.set(row.id, row);
  }

  delete(id: string): void {
    const { notes, waits } = this.kept;
    this.#jobs.delete(id);
    this.#keep({ notes: new Map([...notes].filter(([job]) => job !== id)), waits: waits.filter(({ waiter }) => waiter !== id) });
  }

  nextNumber(): number {
    this.#keep({ number: this.kept.number + 1 });
    return this.kept.number;
  }

  openUnique(name: string, unique: string): Row | null {
    return this.#first((row) => row.name === name && row.unique === unique && isOpen(row));
  }

  isExpected(name: string, unique: string): boolean {
    const row = this.openUnique(name, unique);
    return row !== null && (row.state === 'waiting' || row.early !== null);
  }

  sequence(name: string, sequence: string): { readonly first: Row | null; readonly isBusy: boolean } {
    const rows = this.all((row) => row.name === name && row.sequence === sequence);
    return {
      first: rows.find(({ state }) => ['waiting', 'failed', 'running', 'suspended'].includes(state)) ?? null,
      isBusy: rows.some(({ state }) => state === 'running' || state === 'suspended'),
    };
  }

  readyOfSequence(name: string, sequence: string): Row | null {
    return this.#first((row) => row.ready && row.name === name && row.sequence === sequence);
  }

  openChildren(parent: string, inside: boolean, limit: number): readonly Row[] {
    return this.all((row) => row.parent === parent && isOpen(row) && row.stop === null && (row.inside || !inside)).slice(0, limit);
  }

  overdue(now: number, holder: string, graceMs: number, limit: number): readonly Row[] {
    const running = this.#running();
    return [
      ...by(running, ({ until }) => until ?? 0)
        .filter((row) => row.until !== null && row.until <= now && row.holder !== holder)
        .slice(0, limit),
      ...by(running, ({ stop }) => stop?.at ?? 0)
        .filter(({ stop }) => stop && stop.at + graceMs <= now)
        .slice(0, limit),
      ...by(this.#later(), ({ at }) => at)
        .filter(({ at }) => at <= now)
        .slice(0, limit),
      ...this.all(({ state, until }) => state !== 'running' && until !== null && until <= now).slice(0, limit),
    ];
  }

  next(holder: string, graceMs: number): number | null {
    const times = [
      ...this.#running().flatMap((row) => (row.holder !== holder && row.until !== null ? [row.until] : [])),
      ...this.#running().flatMap(({ stop }) => (stop ? [stop.at + graceMs] : [])),
      ...this.#later().map(({ at }) => at),
      ...this.all(({ state }) => state !== 'running').flatMap(({ until }) => until ?? []),
    ];
    return times.length === 0 ? null : Math.min(...times);
  }

  readyNames(): readonly string[] {
    return distinct(this.all(({ ready }) => ready).map(({ name }) => name));
  }

  running(name: string): readonly Row[] {
    return this.#running().filter((row) => row.name === name && !row.inside);
  }

  lateRunning(): number {
    return this.#running().filter(({ late }) => late).length;
  }

  ready(name: string, lanes: boolean, except: Except, limit: number): readonly Row[] {
    return this.#ready(name, except, (row) => lanes || row.lane === null).slice(0, limit);
  }

  readyAlone(name: string, fromLosses: number, except: Except): Row | null {
    return this.#ready(name, except, ({ lost }) => lost >= fromLosses)[0] ?? null;
  }

  readyInside(name: string, except: Except, limit: number): readonly Row[] {
    return this.all((row) => row.ready && row.inside && row.name === name && isAllowed(row, except) && this.#hasBegun(row.parent))
      .toSorted(byUrgency)
      .slice(0, limit);
  }

  readyLanes(name: string): readonly string[] {
    return distinct(this.all((row) => row.ready && !row.inside && row.name === name).flatMap(({ lane }) => lane ?? []));
  }

  heads({ name, lane }: Lane, perOwner: number, except: Except): readonly Row[] {
    const rows = this.#ready(name, except, (row) => row.lane === lane);
    return rows.filter((row, index) => rows.slice(0, index).filter(({ owner }) => owner === row.owner).length < perOwner);
  }

  promised(name: string, lane: string): readonly Row[] {
    return this.all((row) => row.name === name && row.lane === lane && row.promise !== null);
  }

  served(name: string, lane: string): ReadonlyMap<string | null, number> {
    const turns = this.kept.served.filter((each) => each.name === name && each.lane === lane);
    return new Map(turns.map(({ owner, turn }) => [owner, turn]));
  }

  serve(name: string, lane: string, owner: string | null): void {
    const turn = Math.max(0, ...this.served(name, lane).values()) + 1;
    const others = this.kept.served.filter((each) => each.name !== name || each.lane !== lane || each.owner !== owner);
    this.#keep({ served: [...others, { name, lane, owner, turn }] });
  }

  setWaits(waiter: string, targets: readonly string[]): void {
    const others = this.kept.waits.filter((each) => each.waiter !== waiter);
    this.#keep({ waits: [...others, ...distinct(targets).map((target) => ({ waiter, target }))] });
  }

  endWaits(target: string): readonly string[] {
    const ended = this.kept.waits.filter((each) => each.target === target);
    this.#keep({ waits: this.kept.waits.filter((each) => each.target !== target) });
    return distinct(ended.map(({ waiter }) => waiter)).filter((waiter) => !this.kept.waits.some((each) => each.waiter === waiter));
  }

  addNote(id: string, at: number, data: string, most: number): void {
    this.#keep({ notes: new Map(this.kept.notes).set(id, [...this.notes(id), { at, data }].slice(-most)) });
  }

  notes(id: string): ReturnType<JobRows['notes']> {
    return this.kept.notes.get(id) ?? [];
  }

  list(filter: Filter & { readonly limit: number }): readonly Row[] {
    return this.all((row) => matches(row, filter))
      .toReversed()
      .slice(0, filter.limit);
  }

  count(filter: Filter): number {
    return this.all((row) => matches(row, filter)).length;
  }

  changesSince(number: number, limit: number): ReturnType<JobRows['changesSince']> {
    const changed = by(
      this.all((row) => row.changed > number),
      (row) => row.changed,
    );
    const until = changed[limit - 1]?.changed ?? this.kept.number;
    return { number: until, ids: changed.filter((row) => row.changed <= until).map(({ id }) => id) };
  }

  holds(): readonly Hold[] {
    return this.kept.holds;
  }

  putHold(hold: Hold): void {
    this.removeHold(hold.kind, hold.value);
    this.#keep({ holds: [...this.kept.holds, hold].toSorted((one, other) => compare(one.kind + one.value, other.kind + other.value)) });
  }

  removeHold(kind: Hold['kind'], value: string): void {
    this.#keep({ holds: this.kept.holds.filter((hold) => hold.kind !== kind || hold.value !== value) });
  }

  schedules(): readonly Schedule[] {
    return this.kept.schedules;
  }

  putSchedule(schedule: Schedule): void {
    this.removeSchedule(schedule.id);
    this.#keep({ schedules: [...this.kept.schedules, schedule].toSorted((one, other) => compare(one.id, other.id)) });
  }

  removeSchedule(id: string): void {
    this.#keep({ schedules: this.kept.schedules.filter((each) => each.id !== id) });
  }

  endedBefore(before: number, state: Row['state'], seen: boolean | null, limit: number): readonly string[] {
    const rows = this.all((row) => row.state === state && row.ended !== null && row.ended < before && (seen === null || row.seen === seen));
    return by(rows, ({ ended }) => ended ?? 0)
      .slice(0, limit)
      .map(({ id }) => id);
  }

  shorten(now: number, { lease, retry }: { readonly lease: number; readonly retry: number }): void {
    for (const row of this.all(() => true)) {
      if (row.state === 'failed' && row.at > retry) this.put({ ...row, at: now });
      if (row.state !== 'running') continue;
      const stop = row.stop && { ...row.stop, at: Math.min(row.stop.at, now) };
      this.put({ ...row, stop, until: row.until === null ? null : Math.min(row.until, lease) });
    }
  }

  #keep(kept: Partial<Kept>): void {
    this.kept = { ...this.kept, ...kept };
  }

  #first(where: (row: Row) => boolean): Row | null {
    return this.all(where)[0] ?? null;
  }

  #running(): Row[] {
    return this.all(({ state }) => state === 'running');
  }

  #later(): Row[] {
    return this.all(({ state }) => state === 'scheduled' || state === 'failed' || state === 'suspended');
  }

  #ready(name: string, except: Except, where: (row: Row) => boolean): Row[] {
    return this.all((row) => row.ready && !row.inside && row.name === name && isAllowed(row, except) && where(row)).toSorted(byUrgency);
  }

  #hasBegun(id: string | null): boolean {
    const state = id === null ? undefined : this.get(id)?.state;
    return state === 'running' || state === 'suspended';
  }
}

function isOpen({ ended }: Row): boolean {
  return ended === null;
}

function isSameUnique(one: Row, other: Row): boolean {
  return one.unique !== null && one.unique === other.unique && one.name === other.name && isOpen(one) && isOpen(other);
}

function isAllowed({ lane, owner, version, late }: Row, except: Except): boolean {
  const isHeld = (lane !== null && except.lanes.includes(lane)) || (owner !== null && except.owners.includes(owner));
  return !isHeld && version <= except.newerThan && !(late && except.late);
}

function matches(row: Row, { names, prefix = '', states, ids, lane, owner, parent, before = Infinity, overdue }: Filter): boolean {
  return (
    (names?.includes(row.name) ?? true) &&
    row.name.startsWith(prefix) &&
    (states?.includes(row.state) ?? true) &&
    (ids?.includes(row.id) ?? true) &&
    (lane === undefined || row.lane === lane) &&
    (owner === undefined || row.owner === owner) &&
    (parent === undefined || row.parent === parent) &&
    row.number < before &&
    (overdue === undefined || isOverdue(row, overdue))
  );
}

function isOverdue({ state, ready, at, until }: Row, before: number): boolean {
  if (state === 'running') return (until ?? Infinity) < before;
  return at < before && (ready || state === 'scheduled' || state === 'failed' || state === 'suspended');
}

function byUrgency(one: Row, other: Row): number {
  return other.priority - one.priority || one.number - other.number;
}

function by(rows: readonly Row[], value: (row: Row) => number): Row[] {
  return rows.toSorted((one, other) => value(one) - value(other) || one.number - other.number);
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].toSorted(compare);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
