import { relative } from 'node:path';
import type { Config } from './config.ts';
import type { Jail } from './jail.ts';
import { FileRefused } from './refusal.ts';

export type Verdict = 'free' | 'ask';

/** What may be read or changed without a person, what needs one, and what is never done here. */
export class Policy {
  constructor(
    private readonly jail: Jail,
    private readonly config: Config,
    private readonly dataDirectory: () => string,
  ) {}

  /** Throws `protected` for state and settings, which hold what belongs to others. */
  requireReadable(segments: readonly string[]): void {
    const [first = ''] = segments.map((segment) => segment.toLowerCase());
    const inData = first === 'data' || this.isInData(segments);
    const settings = segments.length === 1 && /^pith(?:\..*)?\.ya?ml$/.test(first);
    if (inData || settings || segments.some((segment) => /^\.(?:env(?:\..*)?|git)$/i.test(segment))) {
      throw new FileRefused(
        'protected',
        `'${segments.join('/')}' holds state or settings, which agents neither read nor change; ask the person`,
      );
    }
  }

  /** Throws `protected`, or `use_proposal` for a file of an existing skill. */
  async verdictOnChange(segments: readonly string[]): Promise<Verdict> {
    this.requireReadable(segments);
    const path = segments.map((segment) => segment.toLowerCase());
    const name = path.at(-1) ?? '';
    // Code and agents run with the rights that their files give them.
    if (['extensions', 'agents', 'node_modules'].includes(path[0] ?? '') || name === 'agent.md' || name === 'manifest.yaml') return 'ask';
    const skill = await this.skillAround(segments);
    if (skill !== null) {
      throw new FileRefused(
        'use_proposal',
        `'${segments.join('/')}' belongs to the skill '${skill}', which exists: use propose_skill_update. (A new skill of several files is made by one apply_patch)`,
      );
    }
    if (path[0] === 'skills' || name === 'skill.md') return this.config.new_skills === 'auto' ? 'free' : 'ask';
    return 'free';
  }

  /** The id of the nearest folder above that holds a SKILL.md, or null. */
  private async skillAround(segments: readonly string[]): Promise<string | null> {
    for (let depth = segments.length; depth > 0; depth -= 1) {
      const folder = segments.slice(0, depth);
      const names = await this.jail.names(folder);
      if (names.some((name) => name.toLowerCase() === 'skill.md')) return folder.at(-1) ?? null;
    }
    return null;
  }

  private isInData(segments: readonly string[]): boolean {
    const path = relative(this.jail.root, this.dataDirectory());
    if (path === '' || path.startsWith('..') || path.startsWith('/')) return false;
    return path.split('/').every((name, index) => segments[index] === name);
  }
}
