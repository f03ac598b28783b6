import { type Clock, PithError } from 'pith';
import type { InstalledSkill, SkillChange, SkillPlace, SkillWriter } from '../contract.ts';
import { commit } from './commit.ts';
import { readLock } from './lock-file.ts';
import { alone, openOperation, removeOperation } from './operation.ts';
import type { Target } from './target.ts';

/** Writes folders of skills for the extensions that get them: locks, journals and the lock file stay in here. */
export class Writer implements SkillWriter {
  private readonly staged = new Map<string, Awaited<ReturnType<typeof openOperation>>>();

  constructor(
    private readonly targets: readonly Target[],
    private readonly clock: Clock,
  ) {}

  async places(): Promise<readonly SkillPlace[]> {
    return this.targets.map(({ source, label, skills, lockFile }) => ({ source, label, skills, lockFile }));
  }

  async installed(source: SkillPlace['source']): Promise<readonly (InstalledSkill & { readonly id: string })[]> {
    const lock = await readLock(this.target(source).lockFile);
    return [...lock].map(([id, entry]) => ({ id, ...entry }));
  }

  async stage(source: SkillPlace['source'], signal?: AbortSignal): Promise<string> {
    const operation = await openOperation(this.target(source), this.clock, signal);
    this.staged.set(operation.directory, operation);
    if (signal?.aborted) await this.unstage(operation.directory); // nobody waits for it any more
    return operation.directory;
  }

  async change(staged: string, changes: readonly SkillChange[]): Promise<void> {
    const operation = this.staged.get(staged);
    if (operation === undefined) throw new PithError('install_failed', `nothing is prepared in ${staged}`, { cure: 'try again' });
    await alone(operation, this.clock, () => commit(operation, changes));
  }

  async unstage(staged: string): Promise<void> {
    const operation = this.staged.get(staged);
    if (operation === undefined) return;
    this.staged.delete(staged);
    operation.release();
    await removeOperation(operation);
  }

  async close(): Promise<void> {
    for (const staged of this.staged.keys()) await this.unstage(staged);
  }

  private target(source: SkillPlace['source']): Target {
    const target = this.targets.find((one) => one.source === source);
    if (target === undefined) throw new PithError('usage', 'no home folder is known', { cure: "take 'project'" });
    return target;
  }
}
