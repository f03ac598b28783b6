import { PithError } from '../../contract/index.ts';
import type { Declaration } from '../../declarations/index.ts';
import { isPlainMap } from '@pith/plain-data';
import { didYouMean } from '@pith/plain-text';
import type { DefinedJob, LanePolicy } from '../calls/job-calls.ts';
import { Problem } from '../records/failures.ts';

/** What a constructor gives to `context.jobs.define`. */
export class DefinedJobs {
  readonly #defined = new Map<string, DefinedJob>();
  #isSettled = false;

  /** Throws `not_declared` and `not_allowed` for what its manifest does not say, for a job defined twice, and after the constructor. */
  add(given: Omit<DefinedJob, 'version'>, { id, manifest, file, diagnostics }: Declaration): void {
    const { name, handler, handling } = given;
    const refused = (code: string, why: string, cure: string): PithError =>
      new PithError(code, `'${id}' defines the job '${name}', ${why}`, { where: file, cure });
    const jobs = manifest?.jobs ?? [];
    const declared = jobs.find((each) => each.name === name);
    if (!declared && jobs.length === 0 && diagnostics.length > 0)
      throw refused('not_declared', 'and its manifest has no jobs that could be read', 'correct what is wrong in the manifest');
    if (!declared) {
      const hint = didYouMean(
        name,
        jobs.map((each) => each.name),
      );
      throw refused('not_declared', `which its manifest does not declare${hint}`, `add { name: ${name} } to 'jobs'`);
    }
    if (this.#isSettled) throw refused('not_allowed', 'but only its constructor may', 'call context.jobs.define in the constructor');
    if (this.#defined.has(name)) throw refused('not_allowed', 'which it has defined already', 'call context.jobs.define once for each job');
    if (typeof handler !== 'function') throw refused('parameter_invalid', 'with no function', 'give a handler(job, signal)');
    if (!isPlainMap(handling))
      throw refused('parameter_invalid', 'with something that is not an object', 'give { migrate, ended, lanes }, or nothing');
    for (const part of ['ended', 'migrate'] as const)
      if (handling[part] !== undefined && typeof handling[part] !== 'function')
        throw refused(
          'parameter_invalid',
          `with ${part === 'ended' ? 'an' : 'a'} '${part}' that is not a function`,
          'give a function, or leave it out',
        );
    if (handling.lanes && !declared.lanes)
      throw refused('not_declared', 'with lanes, which its manifest does not say', "add 'lanes: true' to the job");
    this.#defined.set(name, { ...given, version: declared.version });
  }

  /** After the constructor. Throws `provides_mismatch` where a job that the manifest declares is not defined as it says. */
  settle({ manifest, file }: Declaration): readonly DefinedJob[] {
    this.#isSettled = true;
    return (manifest?.jobs ?? []).map(({ name, lanes }) => {
      const found = this.#defined.get(name);
      if (found && (!lanes || found.handling.lanes)) return found;
      const lacks = found ? `with lanes, for which ${CLASS} gives no policy` : `which ${CLASS} does not define`;
      throw new Problem('construct', 'provides_mismatch', `the manifest declares the job '${name}', ${lacks}`, {
        file,
        cure: "call context.jobs.define in the constructor, or correct 'jobs' of the manifest",
      });
    });
  }
}

const CLASS = 'the constructor of the class';

/** The policies for lanes among them, by name. */
export function lanePolicies(jobs: readonly DefinedJob[]): ReadonlyMap<string, LanePolicy> {
  return new Map(jobs.flatMap(({ name, handling: { lanes } }) => (lanes ? [[name, lanes]] : [])));
}
