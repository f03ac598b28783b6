import { localZone, nextCronTime } from '@pith/cron-times';
import { activeTraceparent } from '@pith/genai-spans';
import { ulid } from 'ulid';
import { z } from 'zod';
import { type Clock, type Job, type JsonValue, PithError } from '../../contract/index.ts';
import type { Declaration } from '../../declarations/index.ts';
import { givenTime, type HostJobs, type JobHandlers, jobText } from '../../kernel/index.ts';
import { transactionPart } from '../../store/index.ts';
import { didYouMean } from '@pith/plain-text';
import { once } from '@pith/promises';
import type { DeclaredJob, HoldKind, JobDeclaration } from './port.ts';
import { hasEnded, isOfKernel, type JobRow, type NewJob, STATES } from './row.ts';
import { infoOf } from './calls.ts';
import type { JobService } from './service.ts';
import { heldValue, type SqliteJobStore } from './store.ts';

type Options = NonNullable<Parameters<HostJobs['add']>[2]>;

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
  const { lanes, concurrency = lanes ? Number.MAX_SAFE_INTEGER : MANY } = declared;
  return { ...declared, name, concurrency, keep: true };
}

/** The jobs of one extension, which sees and changes no others. */
export function createContextJobs(declaration: Declaration, options: ContextJobsOptions): HostJobs {
  const { service, store, handlers, clock } = options;
  const { id: extensionId } = declaration;
  const isOwn = (row: Pick<JobRow, 'name'> | null): boolean => row?.name.startsWith(`${extensionId}.`) ?? false;
  const owned = async (id: string): Promise<JobRow | null> => {
    const row = await store.get(checked(schemas().text, id, 'the id of a job'));
    return isOwn(row) ? row : null;
  };
  const known = async (id: string): Promise<void> => {
    if (await owned(id)) return;
    const ids = (await store.list({ prefix: `${extensionId}.`, limit: MANY_NAMES })).map((row) => row.id);
    throw unknownJob(extensionId, id, didYouMean(id, ids));
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
    const declared = declaredJob(declaration, name);
    const fullName = `${extensionId}.${name}`;
    const { at, parent, inside, attempts, ...options } = checked(schemas().options, given, 'the options of a job');
    if (parent !== null && inside !== null) throw invalid('a job has a parent or is inside another, not both');
    return {
      ...options,
      id: ulid(clock.now()),
      name: fullName,
      version: declared.version,
      payload: jobText(payload, `the payload of '${fullName}'`),
      mostAttempts: attempts ?? declared.attempts,
      tells: true,
      traceparent: activeTraceparent() ?? null,
      at: at === undefined ? null : givenTime(at, 'the at of a job'),
      parent: parent ?? inside,
      inside: inside !== null,
    };
  };
  const policyOf = (name: string) => handlers.policies().get(name) ?? null;
  const checkParent = ({ parent }: NewJob, found: JobRow | null): void => {
    if (!isOwn(found)) throw unknownJob(extensionId, String(parent));
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
      return (await owned(id)) !== null && woken(await store.cancel(id, checked(schemas().text, reason, 'the reason')));
    },
    async get(id) {
      const row = await owned(id);
      return row && service.info(row);
    },
    async list(filter = {}) {
      const { name, state, limit, ...rest } = checked(schemas().filter, filter, 'the filter of jobs');
      if (name !== undefined) declaredJob(declaration, name);
      const rows = await store.list({
        ...rest,
        // also under names of an earlier version: it may cancel them, or add others in their place
        ...(name === undefined ? { prefix: `${extensionId}.` } : { names: [`${extensionId}.${name}`] }),
        ...(state === undefined ? {} : { states: [state] }),
        limit: Math.min(limit, MOST_LISTED),
      });
      return rows.filter((row) => !isOfKernel(row.name)).map((row) => infoOf(row));
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
      const scheduleId = `${extensionId}.${checked(schemas().text, id, 'the id of a timetable')}`;
      if (timetable === null) return store.removeSchedule(scheduleId);
      const { cron, zone, name, payload, missed, within = null } = checked(schemas().timetable, timetable, 'a timetable');
      const { name: fullName, version, payload: text, mostAttempts, tells } = newJob(name, payload, {});
      const job = { name: fullName, version, payload: text, mostAttempts, tells };
      await store.putSchedule({ id: scheduleId, cron, zone, job, missed, within, next: firstTick(cron, zone, clock.now()) });
      service.wake();
    },
    async pause(what, pause) {
      const held = heldOf(declaration, what);
      if (pause === null) await store.release(held.kind, held.value);
      else {
        const { until, reason } = checked(schemas().pause, pause, 'a pause');
        await store.hold({ ...held, until: until === undefined ? null : givenTime(until, 'the end of a pause'), reason });
      }
      service.wake();
    },
    async note(job: Pick<Job, 'id' | 'fence'>, data: JsonValue) {
      const text = jobText(data, 'the note of a job');
      const { id, fence } = checked(schemas().attempt, job, 'the job');
      const isKept = (await owned(id)) !== null && (await store.note({ id, fence }, text));
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

const MOST_TEXT = 512;

/** Made when an extension first uses a job: most starts need none of them. */
const schemas = once(() => {
  // A name that people and rows may have.
  const text = z.custom<string>(
    (given) => typeof given === 'string' && given !== '' && given.length <= MOST_TEXT && !given.includes('\0') && given.isWellFormed(),
    `must be a text of 1 to ${MOST_TEXT} characters`,
  );
  const fromOne = 'must be a whole number from 1';
  const count = z.int(fromOne).min(1, fromOne);
  const most = `${fromOne} to ${MOST_ATTEMPTS}`;
  const orNone = text.nullable().default(null);
  return {
    text,
    options: objectOf({
      unique: orNone,
      onOpen: oneOf(['keep', 'replace', 'fail']).default('keep'),
      sequence: orNone,
      at: z.custom<number>().optional(),
      lane: orNone,
      owner: orNone,
      priority: z.int('must be a whole number').default(0),
      parent: orNone,
      inside: orNone,
      preemptible: z.boolean('must be true or false').default(false),
      attempts: z.int(most).min(1, most).max(MOST_ATTEMPTS, most).optional(),
    }),
    filter: objectOf({
      lane: text.optional(),
      owner: text.optional(),
      parent: text.optional(),
      name: z.string().optional(),
      state: oneOf(STATES).optional(),
      limit: count.default(100),
    }),
    timetable: objectOf({
      cron: text,
      zone: text.default(localZone),
      name: z.string(),
      payload: z.custom<JsonValue>().default(null),
      missed: oneOf(['once', 'skip']).default('once'),
      within: count.optional(),
    }),
    paused: objectOf({ name: text.optional(), lane: text.optional(), owner: text.optional() }),
    pause: objectOf({ until: z.custom<number>().optional(), reason: text }),
    attempt: z.object({ id: text, fence: z.int() }, 'must be an object'),
  };
});

function objectOf<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, 'must be an object');
}

function oneOf<const Values extends readonly string[]>(values: Values) {
  return z.enum(values, `must be one of ${values.join(', ')}`);
}

/** Throws `parameter_invalid` for the first thing that is wrong. */
function checked<Schema extends z.ZodType>(schema: Schema, given: unknown, what: string): z.infer<Schema> {
  const { data, error } = schema.safeParse(given);
  const [issue] = error?.issues ?? [];
  if (issue === undefined) return data as z.infer<Schema>;
  const key = issue.path.length === 0 ? '' : `: '${issue.path.join('.')}'`;
  if (issue.code !== 'unrecognized_keys' || !(schema instanceof z.ZodObject)) throw invalid(`${what}${key} ${issue.message}`);
  const known = Object.keys(schema.shape);
  throw invalid(`${what}: there is no '${issue.keys[0]}'${didYouMean(String(issue.keys[0]), known)}`, `use: ${known.join(', ')}`);
}

/** Lanes and owners are an extension's own, as its names are. */
function heldOf(declaration: Declaration, what: unknown): { readonly kind: HoldKind; readonly value: string } {
  const [held, ...more] = Object.entries(checked(schemas().paused, what, 'what is paused')) as [HoldKind, string][];
  if (held === undefined || more.length > 0) throw invalid('what is paused is one thing', 'use one of: name, lane, owner');
  const [kind, value] = held;
  if (kind === 'name') declaredJob(declaration, value);
  return { kind, value: heldValue(`${declaration.id}.`, value) };
}

/** The first tick from now on. Throws `parameter_invalid`. */
function firstTick(cron: string, zone: string, now: number): number {
  const next = nextCronTime(cron, zone, now);
  if (typeof next === 'number') return next;
  throw invalid(`timetable ${next.problem}`, next.cure);
}

function invalid(why: string, cure = 'see: docs/durable-work.md'): PithError {
  return new PithError('parameter_invalid', why, { cure });
}

function unknownJob(extensionId: string, id: string, hint = ''): PithError {
  return new PithError('job_unknown', `'${extensionId}' has no job ${id}${hint}`, { cure: 'ended jobs are kept for 30 days' });
}
