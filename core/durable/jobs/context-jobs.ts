import { localZone, nextCronTime } from '@pith/cron-times';
import { ulid } from 'ulid';
import { type Clock, type Job, type JsonValue, PithError } from '../../contract/index.ts';
import type { Declaration } from '../../declarations/index.ts';
import { givenTime, type HostJobs, type JobHandlers, jobText } from '../../kernel/index.ts';
import { transactionPart } from '../../store/index.ts';
import { didYouMean } from '@pith/plain-text';
import type { HoldKind, JobDeclaration, ScheduleRow } from './port.ts';
import { hasEnded, type JobRow, type NewJob, STATES } from './row.ts';
import { infoOf } from './calls.ts';
import type { JobService } from './service.ts';
import { heldValue, type SqliteJobStore } from './store.ts';

type DeclaredJob = ReturnType<JobHandlers['declared']> extends ReadonlyMap<string, infer Declared> ? Declared : never;
type Options = NonNullable<Parameters<HostJobs['add']>[2]>;
type Timetable = NonNullable<Parameters<HostJobs['schedule']>[1]>;

export interface ContextJobsOptions {
  readonly service: Pick<JobService, 'wake' | 'info' | 'watch' | 'finished'>;
  readonly store: SqliteJobStore;
  readonly handlers: Pick<JobHandlers, 'policies'>;
  readonly clock: Clock;
}

const MANY = 16;
/** Among so many of the newest jobs a near id is looked for. */
const MANY_NAMES = 100;

/** What its manifest says of a job, for those who claim it. */
export function declarationOf(name: string, declared: DeclaredJob): JobDeclaration {
  const { attempts, backoff, version, lanes, concurrency = lanes ? Number.MAX_SAFE_INTEGER : MANY } = declared;
  const { first_ms: firstMs, most_ms: mostMs } = backoff;
  return { name, concurrency, version, lanes, keep: true, attempts, backoff: { firstMs, mostMs }, timeoutMs: declared.timeout_ms ?? null };
}

/** The jobs of one extension, which sees and changes no others. */
export function createContextJobs(declaration: Declaration, options: ContextJobsOptions): HostJobs {
  const { service, store, handlers, clock } = options;
  const { id: extensionId } = declaration;
  const isOwn = (row: Pick<JobRow, 'name'> | null): boolean => row?.name.startsWith(`${extensionId}.`) ?? false;
  const owned = async (id: string): Promise<JobRow | null> => {
    const row = await store.get(givenText(id, 'the id of a job'));
    return isOwn(row) ? row : null;
  };
  const known = async (id: string): Promise<void> => {
    if (await owned(id)) return;
    const recent = await store.list({ prefix: `${extensionId}.`, limit: MANY_NAMES });
    throw unknownJob(
      extensionId,
      id,
      didYouMean(
        id,
        recent.map((row) => row.id),
      ),
    );
  };
  const hasRoom = roomFor(() => store.countNow({ prefix: `${extensionId}.`, states: OPEN }), clock);
  const added = (name: string, payload: JsonValue, given: Options): NewJob => {
    const job = newJob(name, payload, given);
    if (hasRoom()) return job;
    throw new PithError('limit_reached', `'${extensionId}' has ${MOST_OPEN} open jobs, and no more may wait`, {
      where: job.name,
      cure: `see: pith jobs list --name ${job.name}; cancel what nobody needs with: pith jobs cancel --name ${job.name}`,
    });
  };
  const newJob = (name: string, payload: JsonValue, given: Options): NewJob => {
    const { attempts, version } = declaredJob(declaration, name);
    const fullName = `${extensionId}.${name}`;
    const checked = checkedOptions(givenFields(given, 'the options of a job'));
    const text = jobText(payload, `the payload of '${fullName}'`);
    const { attempts: mostAttempts = attempts, ...rest } = checked;
    return { id: ulid(clock.now()), name: fullName, version, payload: text, mostAttempts, tells: true, ...rest };
  };
  const policyOf = (name: string) => handlers.policies().get(name) ?? null;
  /** A parent may be gone, unless a job is inside it; another extension's it cannot be. */
  const checkParent = ({ parent, inside }: NewJob, found: JobRow | null): void => {
    if (found === null ? inside : !isOwn(found)) throw unknownJob(extensionId, String(parent));
  };
  const woken = <T>(result: T): T => {
    service.wake();
    return result;
  };

  return {
    async add(name, payload, given = {}) {
      const job = added(name, payload, given);
      if (job.parent !== null) checkParent(job, await store.get(job.parent));
      return woken(await store.insert(job, policyOf(job.name)));
    },
    statement(name, payload, given = {}) {
      const job = added(name, payload, given);
      return transactionPart({ job: job.id }, (statement) => {
        const work = store.within(statement);
        if (job.parent !== null) checkParent(job, work.rows.get(job.parent));
        statement.onCommit(() => service.wake());
        return work.insert(job, policyOf(job.name)).added ? 1 : 0;
      });
    },
    guard: ({ id, fence }) =>
      transactionPart({ job: id }, (statement) => {
        store.within(statement).guard({ id, fence });
        return 0;
      }),
    async resume(id, value = null) {
      const text = jobText(value, 'the value of jobs.resume');
      return (await owned(id)) !== null && woken(await store.resume(id, text));
    },
    async cancel(id, reason = 'it was cancelled') {
      return (await owned(id)) !== null && woken(await store.cancel(id, givenText(reason, 'the reason')));
    },
    async get(id) {
      const row = await owned(id);
      return row && service.info(row);
    },
    async list(filter = {}) {
      const { name, state, lane, owner, parent, limit = 100 } = givenFields(filter, 'the filter of jobs');
      if (state !== undefined && !STATES.includes(state)) throw invalid(`there is no state '${String(state)}'`, STATES);
      const names = name === undefined ? (declaration.manifest?.jobs ?? []) : [declaredJob(declaration, name)];
      const rows = await store.list({
        names: names.map((each) => `${extensionId}.${each.name}`),
        ...(state === undefined ? {} : { states: [state] }),
        ...textsOf({ lane, owner, parent }),
        limit: Math.min(givenCount(limit, 'the limit'), MOST_LISTED),
      });
      return rows.map((row) => infoOf(row));
    },
    async *watch(id, signal) {
      await known(id);
      yield* service.watch(id, signal);
    },
    async finished(id, signal) {
      await known(id);
      return service.finished(id, signal);
    },
    async schedule(id, timetable) {
      const scheduleId = `${extensionId}.${givenText(id, 'the id of a timetable')}`;
      if (timetable === null) return store.removeSchedule(scheduleId);
      const { name, payload = null } = givenFields(timetable, 'a timetable');
      const job = newJob(name, payload, {});
      await store.putSchedule(scheduleOf(scheduleId, timetable, job, clock.now()));
      service.wake();
    },
    async pause(what, pause) {
      const { kind, value } = heldOf(declaration, givenFields(what, 'what is paused'));
      if (pause === null) await store.release(kind, value);
      else {
        const { until, reason } = givenFields(pause, 'a pause');
        const end = until === undefined ? null : givenTime(until, 'the end of a pause');
        await store.hold({ kind, value, until: end, reason: givenText(reason, 'the reason') });
      }
      service.wake();
    },
    async note(job: Pick<Job, 'id' | 'fence'>, data: JsonValue) {
      const text = jobText(data, 'the note of a job');
      const { id, fence } = givenFields(job, 'the job');
      const isKept = (await owned(id)) !== null && (await store.note({ id, fence: Number(fence) }, text));
      if (!isKept) throw new PithError('lease_lost', `job ${id}: another process has it`, { where: id, cure: 'end this attempt' });
    },
  };
}

const MOST_LISTED = 1000;
/** As in a manifest. */
const MOST_ATTEMPTS = 1000;
const OPEN = STATES.filter((state) => !hasEnded({ state }));
/** The most open jobs of an extension. */
const MOST_OPEN = 100_000;
/** Between two counts of one that is full. */
const COUNT_AGAIN_MS = 1_000;

/** Says of each job whether one more may be open. `count` reads them all, so it is asked again when a part of the room is used: others add, too. */
function roomFor(count: () => number, { now }: Clock): () => boolean {
  let room = 0;
  let fullAt = -Infinity;
  return () => {
    if (room === 0 && Math.abs(now() - fullAt) >= COUNT_AGAIN_MS) {
      room = Math.ceil(Math.max(0, MOST_OPEN - count()) / 8);
      if (room === 0) fullAt = now();
    }
    if (room === 0) return false;
    room -= 1;
    return true;
  };
}

function declaredJob({ id, manifest, file }: Declaration, name: string): DeclaredJob {
  const jobs = manifest?.jobs ?? [];
  const found = jobs.find((each) => each.name === name);
  if (found) return found;
  const names = jobs.map((each) => each.name);
  throw new PithError('not_declared', `'${id}' has no job '${name}'${didYouMean(String(name), names)}`, {
    where: file,
    cure: `add { name: ${name} } to 'jobs' of its manifest`,
  });
}

type Checked = Omit<NewJob, 'id' | 'name' | 'version' | 'payload' | 'mostAttempts' | 'tells'> & { readonly attempts?: number };

function checkedOptions(options: Options): Checked {
  const { unique, onOpen = 'keep', sequence, at, lane, owner, priority = 0, parent, inside, preemptible = false, attempts } = options;
  const unknown = Object.keys(options).find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined) throw invalid(`a job has no option '${unknown}'${didYouMean(unknown, OPTIONS)}`, OPTIONS);
  if (!ON_OPEN.includes(onOpen)) throw invalid(`there is no onOpen '${String(onOpen)}'`, ON_OPEN);
  if (!Number.isSafeInteger(priority)) throw invalid('the priority of a job must be a whole number');
  if (parent !== undefined && inside !== undefined) throw invalid('a job has a parent or is inside another, not both');
  const texts = textsOf({ unique, sequence, lane, owner, parent: parent ?? inside });
  return {
    unique: null,
    sequence: null,
    lane: null,
    owner: null,
    parent: null,
    ...texts,
    onOpen,
    at: at === undefined ? null : givenTime(at, 'the at of a job'),
    priority,
    inside: inside !== undefined,
    preemptible: preemptible === true,
    ...(attempts === undefined ? {} : { attempts: givenCount(attempts, 'the attempts of a job', MOST_ATTEMPTS) }),
  };
}

const OPTIONS: readonly string[] = [
  'unique',
  'onOpen',
  'sequence',
  'at',
  'lane',
  'owner',
  'priority',
  'parent',
  'inside',
  'preemptible',
  'attempts',
] satisfies (keyof Options)[];
const ON_OPEN: readonly NewJob['onOpen'][] = ['keep', 'replace', 'fail'];

function scheduleOf(id: string, timetable: Timetable, { name, version, payload, mostAttempts, tells }: NewJob, now: number): ScheduleRow {
  const { cron, zone = localZone(), missed = 'once', within } = timetable;
  if (!MISSED.includes(missed)) throw invalid(`there is no missed '${String(missed)}'`, MISSED);
  const next = nextCronTime(givenText(cron, 'the cron of a timetable'), givenText(zone, 'the zone of a timetable'), now);
  if (typeof next !== 'number') throw new PithError('parameter_invalid', `timetable ${next.problem}`, { cure: next.cure });
  return {
    id,
    cron,
    zone,
    job: { name, version, payload, mostAttempts, tells },
    missed,
    within: within === undefined ? null : givenCount(within, 'the within of a timetable'),
    next,
  };
}

const MISSED: readonly ScheduleRow['missed'][] = ['once', 'skip'];

/** Lanes and owners are an extension's own, as its names are. */
function heldOf(declaration: Declaration, what: Parameters<HostJobs['pause']>[0]): { readonly kind: HoldKind; readonly value: string } {
  const kind = KINDS.find((each) => each in what);
  if (kind === undefined || Object.keys(what).length > 1) throw invalid('a pause of jobs is of one thing', KINDS);
  const value = (what as Readonly<Record<string, string>>)[kind] as string;
  if (kind === 'name') declaredJob(declaration, value);
  return { kind, value: heldValue(`${declaration.id}.`, givenText(value, `the ${kind} of a pause`)) };
}

const KINDS: readonly HoldKind[] = ['name', 'lane', 'owner'];

const MOST_TEXT = 512;

/** A name that people and rows may have. Throws `parameter_invalid`. */
function givenText(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= MOST_TEXT && !value.includes('\0') && value.isWellFormed()) return value;
  throw invalid(`${what} must be a text of 1 to ${MOST_TEXT} characters`);
}

function givenFields<T extends object>(value: T, what: string): T {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw invalid(`${what} must be an object`);
}

function textsOf<Name extends string>(given: Readonly<Record<Name, string | undefined>>): Partial<Record<Name, string>> {
  const there = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(there.map(([name, value]) => [name, givenText(value, `the ${name} of a job`)])) as Partial<
    Record<Name, string>
  >;
}

function givenCount(value: unknown, what: string, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw invalid(`${what} must be a whole number from 1${most < Number.MAX_SAFE_INTEGER ? ` to ${most}` : ''}`);
}

function invalid(why: string, known: readonly string[] = []): PithError {
  return new PithError('parameter_invalid', why, {
    cure: known.length > 0 ? `use one of: ${known.join(', ')}` : 'see: docs/durable-work.md',
  });
}

function unknownJob(extensionId: string, id: string, hint = ''): PithError {
  return new PithError('job_unknown', `'${extensionId}' has no job ${id}${hint}`, { cure: 'ended jobs are kept for 30 days' });
}
