import { fieldsOf } from '@pith/plain-data';
import { type JobInfo, PithError } from '../../contract/index.ts';
import type { Manifest } from '../../trust/index.ts';
import { canRun, type Slot } from '../lifecycle/actor.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Generation } from '../calls/generation.ts';
import { type HandlerEnd, type JobCall, type LanePolicy, operationOfEnd, operationOfJob } from '../calls/job-calls.ts';
import { problemOf } from '../records/failures.ts';
import { runAs } from '../records/stray-errors.ts';
import { callInBackground } from './background-calls.ts';
import { running } from './handle.ts';

/** Jobs are named `<extension id>.<name>`. Nothing here loads code but `load`, `call` and `notify`. */
export interface JobHandlers {
  /** Those of enabled extensions. */
  declared(): ReadonlyMap<string, Manifest['jobs'][number]>;
  /** Of manifests; each names a job, or a handler of events. */
  schedules(): readonly (Pick<Manifest['schedules'][number], 'name' | 'cron' | 'job' | 'handler'> & { readonly extensionId: string })[];
  /** Extensions whose manifest cannot be read now: what it said before counts. */
  unread(): ReadonlySet<string>;
  /** Those whose extension can run now, loaded or not. */
  callable(): ReadonlySet<string>;
  /** The policies for lanes of extensions that are loaded. They never throw. */
  policies(): ReadonlyMap<string, LanePolicy>;
  load(name: string): Promise<void>;
  /** Rejects with what the handler threw, `Postponed` while it is not there or when it was replaced meanwhile. Lasts until the handler has ended. */
  call(name: string, job: JobCall, signal: AbortSignal): Promise<HandlerEnd>;
  /** Rejects as `call`. Its extension need not want to know. */
  notify(name: string, job: JobInfo, signal: AbortSignal): Promise<void>;
}

export function createJobHandlers(lifecycle: Lifecycle): JobHandlers {
  const { slots } = lifecycle;
  const enabled = (): readonly Slot[] => [...slots.values()].filter(({ config }) => config.enabled);
  const jobsOf = (from: readonly Slot[]) =>
    from.flatMap(({ id, declaration }) => (declaration.manifest?.jobs ?? []).map((job) => [`${id}.${job.name}`, job] as const));
  return {
    declared: () => new Map(jobsOf(enabled())),
    schedules: () =>
      enabled().flatMap(({ id, declaration }) =>
        (declaration.manifest?.schedules ?? []).map((schedule) => ({ ...schedule, extensionId: id })),
      ),
    unread: () => new Set(enabled().flatMap(({ id, declaration }) => (declaration.manifest === null ? [id] : []))),
    callable: () => {
      const able = enabled().filter((slot) => slot.pending !== null || canRun(lifecycle.stateOf(slot)));
      return new Set(jobsOf(able).map(([name]) => name));
    },
    policies: () =>
      new Map(
        enabled().flatMap(({ id, current }) =>
          [...(current?.surface.lanes ?? [])].map(([name, policy]) => [`${id}.${name}`, contained(lifecycle, id, policy)] as const),
        ),
      ),
    load: async (name) => void (await running(lifecycle, partsOf(name)[0])),
    async call(name, job, signal) {
      const [extensionId, own] = partsOf(name);
      const call = { extensionId, phase: 'background', correlationId: job.id } as const;
      const values = [job, { correlationId: job.id }];
      const asked = { operation: operationOfJob(own), values, timeoutMs: null, signal, waitsForEnd: true } as const;
      const canTake = (generation: Generation): boolean => versionIn(generation, own) >= job.version;
      return (await callInBackground(lifecycle, call, asked, { canTake, recorded: false })) as HandlerEnd; // the job itself says why it failed
    },
    async notify(name, job, signal) {
      const [extensionId, own] = partsOf(name);
      const operation = operationOfEnd(own);
      await running(lifecycle, extensionId).catch(() => undefined); // the call says why
      if (slots.get(extensionId)?.current?.surface.operations.has(operation) === false) return;
      const call = { extensionId, phase: 'background', correlationId: job.id } as const;
      const values = [job, { correlationId: job.id }];
      await callInBackground(lifecycle, call, { operation, values, timeoutMs: null, signal, waitsForEnd: true });
    },
  };
}

/** Of the payload that a version reads; 0: it has no such job. */
function versionIn({ declaration }: Generation, job: string): number {
  return declaration.manifest?.jobs.find(({ name }) => name === job)?.version ?? 0;
}

function partsOf(name: string): readonly [extensionId: string, job: string] {
  const dot = name.lastIndexOf('.');
  return [name.slice(0, dot), name.slice(dot + 1)];
}

/** A policy that throws, or answers something else, gives out nothing: it is asked in a transaction that jobs of others share. */
function contained({ runtime }: Lifecycle, id: string, policy: LanePolicy): LanePolicy {
  const asked = <T>(ask: () => T, otherwise: T): T => {
    try {
      return runAs(runtime.owner(id, 'background'), ask);
    } catch (error) {
      runtime.failures.record(id, problemOf(error, 'background', 'handler_failed'));
      return otherwise;
    }
  };
  return {
    rules: (lane) => asked(() => policy.rules(lane), null),
    pick: (lane) => asked(() => checkedPick(policy.pick(lane)), NOTHING),
  };
}

function checkedPick(given: unknown): Picked {
  const { start, preempt, promised } = fieldsOf(given);
  if (isIds(start) && isIds(preempt) && promised instanceof Map && isIds([...promised].flat()))
    return { start: [...start], preempt: [...preempt], promised: new Map(promised as Picked['promised']) };
  throw new PithError('handler_failed', 'a policy for lanes did not answer { start, preempt, promised } with ids of jobs', {
    cure: 'see: docs/durable-work.md',
  });
}

function isIds(given: unknown): given is readonly string[] {
  return Array.isArray(given) && given.every((each) => typeof each === 'string');
}

type Picked = ReturnType<LanePolicy['pick']>;

const NOTHING: Picked = { start: [], preempt: [], promised: new Map() };
