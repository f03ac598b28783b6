import { PithError } from 'pith';
import type { Staged } from '@pith/folder-changes';
import type { InstalledSkill, SkillChange, SkillPlace, SkillWriter } from '../contract.ts';
import type { Target } from './targets.ts';

/** Writes folders of skills for the extensions that get them. */
export class Writer implements SkillWriter {
  private readonly staged = new Map<string, Staged<InstalledSkill>>();

  constructor(
    private readonly targets: readonly Target[],
    readonly keepVersion: SkillWriter['keepVersion'],
  ) {}

  async places(): Promise<readonly SkillPlace[]> {
    return this.targets.map(({ place }) => place);
  }

  async installed(source: SkillPlace['source']): Promise<readonly (InstalledSkill & { readonly id: string })[]> {
    return [...(await this.target(source).entries())].map(([id, entry]) => ({ id, ...entry }));
  }

  async stage(source: SkillPlace['source'], signal?: AbortSignal): Promise<string> {
    const staged = await this.target(source).stage(signal);
    this.staged.set(staged.directory, staged);
    if (signal?.aborted) await this.unstage(staged.directory); // nobody waits for it any more
    return staged.directory;
  }

  async change(directory: string, changes: readonly SkillChange[]): Promise<void> {
    const staged = this.staged.get(directory);
    if (staged === undefined) throw new PithError('install_failed', `nothing is prepared in ${directory}`, { cure: 'try again' });
    await staged.change(changes);
  }

  async unstage(directory: string): Promise<void> {
    const staged = this.staged.get(directory);
    this.staged.delete(directory);
    await staged?.remove();
  }

  async close(): Promise<void> {
    for (const directory of this.staged.keys()) await this.unstage(directory);
  }

  private target(source: SkillPlace['source']): Target['folders'] {
    const target = this.targets.find(({ place }) => place.source === source);
    if (target === undefined) throw new PithError('usage', 'no home folder is known', { cure: "take 'project'" });
    return target.folders;
  }
}
