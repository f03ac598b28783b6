import { realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { codeOf } from 'pith';
import { runsLater } from '@pith/safe-files';
import type { Config } from './config.ts';
import type { Jail } from './jail.ts';
import { FileRefused } from './refusal.ts';

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

  /** Why a person is asked before this changes; null: nobody is. Throws `protected`, or `use_proposal` for a file of an existing skill. */
  async reasonToAsk(segments: readonly string[]): Promise<string | null> {
    this.requireReadable(segments);
    const [first = '', ...rest] = segments;
    if (first === STAGING && rest.length > 0 && rest.every((name) => ORDINARY.test(name))) return null;
    const above = await this.foldersAround(segments);
    const skill = above.find(({ name, names }) => name !== '' && names.has('skill.md'))?.name;
    if (skill !== undefined && !CODE_FOLDERS.has(first.toLowerCase())) {
      throw new FileRefused(
        'use_proposal',
        `'${segments.join('/')}' belongs to the skill '${skill}', which exists: only a person changes it, so propose the change to them. (A new skill of several files is made by one apply_patch)`,
      );
    }
    if (above.some(({ names }) => DECLARATIONS.some((file) => names.has(file)))) return 'lies in the folder of an extension or an agent';
    return runsLater(this.config.new_skills === 'auto' ? withoutSkill(segments) : segments);
  }

  /** The folders above a path, the nearest first and the sandbox itself last, with what they hold in lower case. */
  private async foldersAround(
    segments: readonly string[],
  ): Promise<readonly { readonly name: string; readonly names: ReadonlySet<string> }[]> {
    const found = [];
    for (let depth = segments.length; depth >= 0; depth -= 1) {
      const names = await this.jail.names(segments.slice(0, depth));
      found.push({ name: segments[depth - 1] ?? '', names: new Set(names.map((each) => each.toLowerCase())) });
    }
    return found;
  }

  /** True below the data folder that the settings name, also where they name it by a link or in another case. */
  private isInData(segments: readonly string[]): boolean {
    const way = relative(this.jail.root, realPathOf(this.dataDirectory()));
    if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) return false;
    if (way === '') return STATE.test(segments[0] ?? '');
    return way.split(sep).every((name, index) => segments[index]?.toLowerCase() === name.toLowerCase());
  }
}

/** What is being written, and loaded by nobody: a person is asked when it is activated. Hidden names in it are still read by editors. */
const STAGING = '.staging';
const ORDINARY = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_ .()+,@=-]*$/u;
/** Skills that lie in these are part of code. */
const CODE_FOLDERS: ReadonlySet<string> = new Set(['extensions', 'agents']);
/** What makes a folder an extension or an agent, wherever it lies. */
const DECLARATIONS: readonly string[] = ['manifest.yaml', 'agent.md'];
/** What the kernel keeps, where the sandbox itself is the data folder. */
const STATE = /^(?:pith\.db.*|\.cache|logs)$/i;

/** The path without what makes a skill of it: where new skills need nobody, that alone is no reason to ask. */
function withoutSkill(segments: readonly string[]): readonly string[] {
  const [first = '', ...rest] = segments;
  const names = first.toLowerCase() === 'skills' && rest.length > 0 ? rest : segments;
  return names.at(-1)?.toLowerCase() === 'skill.md' ? [...names.slice(0, -1), 'text.md'] : names;
}

function realPathOf(directory: string): string {
  try {
    return realpathSync(directory);
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT') return directory; // removed meanwhile: there is nothing to hide
    throw error;
  }
}
