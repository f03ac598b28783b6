import { PithError } from 'pith';
import type { Staged } from '@pith/folder-changes';
import type { InstalledSkill, SkillChange, SkillNote, SkillPlace, SkillProposalFile, SkillWriter } from '../contract.ts';
import type { ProposalFiles } from './proposal-files.ts';
import type { StagedChanges, Target } from './targets.ts';

export interface WriterOptions {
  readonly targets: readonly Target[];
  readonly keepVersion: SkillWriter['keepVersion'];
  /** Before changes are made: the histories of the skills are told of them. */
  readonly before: (target: Target, staged: StagedChanges) => Promise<void>;
  readonly after: () => void;
  readonly proposals: ProposalFiles;
}

interface StagedIn {
  readonly target: Target;
  readonly staged: Staged<InstalledSkill>;
}

/** Writes folders of skills for the extensions that get them, and records what it writes. */
export class Writer implements SkillWriter {
  readonly keepVersion: SkillWriter['keepVersion'];
  private readonly staged = new Map<string, StagedIn>();

  constructor(private readonly options: WriterOptions) {
    this.keepVersion = options.keepVersion;
  }

  async places(): Promise<readonly SkillPlace[]> {
    return this.options.targets.map(({ place }) => place);
  }

  async installed(source: SkillPlace['source']): Promise<readonly (InstalledSkill & { readonly id: string })[]> {
    return [...(await this.target(source).folders.entries())].map(([id, entry]) => ({ id, ...entry }));
  }

  async stage(source: SkillPlace['source'], signal?: AbortSignal): Promise<string> {
    const target = this.target(source);
    const staged = await target.folders.stage(signal);
    this.staged.set(staged.directory, { target, staged });
    if (signal?.aborted) await this.unstage(staged.directory); // nobody waits for it any more
    return staged.directory;
  }

  async change(directory: string, changes: readonly SkillChange[], note: SkillNote): Promise<void> {
    const { target, staged } = this.staged.get(directory) ?? {};
    if (target === undefined || staged === undefined)
      throw new PithError('install_failed', `nothing is prepared in ${directory}`, { cure: 'try again' });
    try {
      await staged.change(changes, () => this.options.before(target, { directory, changes, note }));
    } finally {
      this.options.after();
    }
  }

  async unstage(directory: string): Promise<void> {
    const known = this.staged.get(directory);
    this.staged.delete(directory);
    await known?.staged.remove();
  }

  async proposals(): Promise<readonly SkillProposalFile[]> {
    return this.options.proposals.list();
  }

  writeProposal(name: string, text: string | null, expects: string | null): Promise<void> {
    return this.options.proposals.write(name, text, expects);
  }

  async close(): Promise<void> {
    for (const directory of this.staged.keys()) await this.unstage(directory);
  }

  private target(source: SkillPlace['source']): Target {
    const target = this.options.targets.find(({ place }) => place.source === source);
    if (target === undefined) throw new PithError('usage', 'no home folder is known', { cure: "take 'project'" });
    return target;
  }
}
