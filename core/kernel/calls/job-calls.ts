import { AsyncLocalStorage } from 'node:async_hooks';
import { fieldsOf } from '@pith/plain-data';
import { type ExtensionContext, type Job, type JobInfo, type JsonValue, PithError } from '../../contract/index.ts';
import { isLonger, jsonText } from './json-value.ts';

type Jobs = ExtensionContext['jobs'];
type Handler = Parameters<Jobs['define']>[1];
export type JobHandling = NonNullable<Parameters<Jobs['define']>[2]>;
export type LanePolicy = NonNullable<JobHandling['lanes']>;

/** What a constructor defined of a job that its manifest declares. */
export interface DefinedJob {
  readonly name: string;
  /** Of the payload, as the manifest says. */
  readonly version: number;
  readonly handler: Handler;
  readonly handling: JobHandling;
}

/** What a handler is given of an attempt; plain data, the same in both tiers. */
export interface JobCall extends Omit<Job, 'note'> {
  /** Of the payload. */
  readonly version: number;
}

export type Wait = Parameters<Jobs['wait']>[0];

/** How a handler ended. */
export type HandlerEnd =
  /** JSON text of what it returned. */
  | { readonly kind: 'done'; readonly result: string }
  | { readonly kind: 'again'; readonly at: number }
  | { readonly kind: 'wait'; readonly wait: Wait };

/** What a handler returns for an end that is no result. */
class Pause {
  constructor(
    readonly pause: 'again' | 'wait',
    readonly end: HandlerEnd,
  ) {}
}

export function pauseAgain(at: number): Pause {
  return new Pause('again', { kind: 'again', at: givenTime(at, 'the time of jobs.again') });
}

export function pauseWait(event: Wait): Pause {
  return new Pause('wait', { kind: 'wait', wait: checkedWait(event) });
}

/** As the process of an extension says that a handler ended. */
export function checkedEnd(value: unknown): HandlerEnd {
  const { kind, at, wait, result } = fieldsOf(value);
  if (kind === 'again') return pauseAgain(at as number).end;
  if (kind === 'wait') return pauseWait(wait as Wait).end;
  if (kind === 'done' && typeof result === 'string') return { kind, result: jobText(JSON.parse(result), 'the result') };
  throw new PithError('provider_failed', 'the process of the extension did not say how the job ended');
}

const MOST_BYTES = 1024 * 1024;
/** What goes to a separate process is somewhat deeper than its payload. */
const DEEPEST = 60;

/** A payload, result or note as JSON text of at most 1 MiB. Throws `not_serialisable`. */
export function jobText(value: unknown, what: string): string {
  const text = jsonText(value ?? null, what, DEEPEST);
  if (!isLonger(text, MOST_BYTES)) return text;
  throw new PithError('not_serialisable', `${what} is longer than 1 MiB`, { cure: 'keep it in a table or a file and give where it is' });
}

/** The job whose handler runs, where its code does. */
const handled = new AsyncLocalStorage<string>();

/** Throws `not_allowed` where the handler of a job would wait for its own end. */
export function refuseOwn(id: string): void {
  if (handled.getStore() !== id) return;
  throw new PithError('not_allowed', `job ${id}: its handler would wait for its own end`, { cure: 'return from the handler' });
}

type Operation = (values: readonly unknown[], signal: AbortSignal) => Promise<unknown>;

/** The operations `job.<name>` and, where the constructor gave `ended`, `job.<name>.ended`. */
export function jobOperations(
  jobs: readonly DefinedJob[],
  note: (job: Pick<Job, 'id' | 'fence'>, data: JsonValue) => Promise<void>,
): readonly (readonly [string, Operation])[] {
  return jobs.flatMap((defined) => {
    const { name, handler, handling } = defined;
    const { ended } = handling;
    const run: Operation = async ([given], signal) => {
      const { version, ...call } = given as JobCall;
      const job = Object.freeze({
        ...call,
        payload: payloadOf(defined, call.payload, version),
        note: (data: JsonValue) => note({ id: call.id, fence: call.fence }, data),
      });
      const result = await handled.run(call.id, () => handler(job, signal));
      return result instanceof Pause ? result.end : { kind: 'done', result: jobText(result, `the result of the job '${name}'`) };
    };
    const notify: Operation = async ([job], signal) => void (await ended?.call(handling, job as JobInfo, signal));
    return [[operationOfJob(name), run] as const, ...(ended ? [[operationOfEnd(name), notify] as const] : [])];
  });
}

export function operationOfJob(name: string): string {
  return `job.${name}`;
}

export function operationOfEnd(name: string): string {
  return `job.${name}.ended`;
}

function payloadOf({ name, version, handling }: DefinedJob, payload: JsonValue, written: number): unknown {
  if (written >= version) return payload;
  if (handling.migrate) return handling.migrate(payload, written);
  throw new PithError('job_outdated', `a job '${name}' has a payload of version ${written}, and its extension reads version ${version}`, {
    cure: 'give jobs.define a migrate that reads older payloads, then: pith jobs retry',
  });
}

const WAITS: ReadonlySet<string> = new Set<keyof Wait>(['until', 'deadline', 'jobs', 'resume']);
const MOST_JOBS = 1000;

function checkedWait(event: Wait): Wait {
  const { until, deadline, jobs, resume } = fieldsOf(event);
  const unknown = Object.keys(fieldsOf(event)).find((key) => !WAITS.has(key));
  if (unknown !== undefined) throw invalid(`jobs.wait does not know '${unknown}'`);
  if (jobs !== undefined && !isList(jobs)) throw invalid(`the jobs of jobs.wait must be at most ${MOST_JOBS} ids`);
  if (resume !== undefined && resume !== true) throw invalid('the resume of jobs.wait can only be true');
  const wait: Wait = {
    ...(until === undefined ? {} : { until: givenTime(until, 'the until of jobs.wait') }),
    ...(deadline === undefined ? {} : { deadline: givenTime(deadline, 'the deadline of jobs.wait') }),
    ...(jobs === undefined ? {} : { jobs }),
    ...(resume === undefined ? {} : { resume }),
  };
  if (Object.values(wait).every((what) => Array.isArray(what) && what.length === 0))
    throw invalid('jobs.wait is given nothing to wait for');
  return wait;
}

function isList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= MOST_JOBS && value.every((each) => typeof each === 'string');
}

/** The last that a Date holds. */
const LATEST = 8.64e15;

/** Milliseconds since the epoch. Throws `parameter_invalid`. */
export function givenTime(value: unknown, what: string): number {
  if (typeof value === 'number' && Math.abs(value) <= LATEST) return Math.ceil(value);
  throw invalid(`${what} must be milliseconds since the epoch`);
}

function invalid(why: string): PithError {
  return new PithError('parameter_invalid', why, { cure: 'see: docs/durable-work.md' });
}
