import { type HostJobs, toJsonValue } from '../kernel/index.ts';
import type { Incoming } from '@pith/process-rpc';
import { givenObject, givenText } from './crossing.ts';

type Call = (args: readonly unknown[], incoming: Incoming) => unknown;

/** What the process of an extension may ask of its jobs. `jobs` hold its options to what they may be. */
export function jobCalls(jobs: () => HostJobs): Readonly<Record<string, Call>> {
  return {
    'jobs.add': ([name, payload, options]) =>
      jobs().add(givenText(name, 'the name of a job'), toJsonValue(payload, 'the payload'), optionsOf(options)),
    'jobs.resume': ([id, value]) => jobs().resume(givenText(id, 'the id of a job'), toJsonValue(value, 'the value')),
    'jobs.cancel': ([id, reason]) =>
      jobs().cancel(givenText(id, 'the id of a job'), reason === undefined ? undefined : givenText(reason, 'the reason')),
    'jobs.get': ([id]) => jobs().get(givenText(id, 'the id of a job')),
    'jobs.list': ([filter]) => jobs().list(optionsOf(filter)),
    'jobs.watch': ([id], { signal }) => jobs().watch(givenText(id, 'the id of a job'), signal),
    'jobs.finished': ([id], { signal }) => jobs().finished(givenText(id, 'the id of a job'), signal),
    'jobs.schedule': ([id, timetable]) =>
      jobs().schedule(
        givenText(id, 'the id of a timetable'),
        timetable === null ? null : (givenObject(timetable, 'the timetable') as never),
      ),
    'jobs.hold': ([what, hold]) =>
      jobs().hold(givenObject(what, 'what is paused') as never, hold === null ? null : (givenObject(hold, 'the pause') as never)),
    'jobs.note': ([job, data]) => {
      const { id, fence } = givenObject(job, 'the job');
      return jobs().note({ id: givenText(id, 'the id of a job'), fence: Number(fence) }, toJsonValue(data, 'the note'));
    },
  };
}

function optionsOf(value: unknown): never {
  return (value === undefined ? undefined : givenObject(value, 'the options')) as never;
}
