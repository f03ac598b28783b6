import { realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { codeOf } from 'pith';
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
    if (segments.length > 1 && segments[0] === STAGING) return 'free';
    const path = segments.map((segment) => segment.toLowerCase());
    const name = path.at(-1) ?? '';
    const above = await this.foldersAround(segments);
    const skill = above.find(({ name: folder, names }) => folder !== '' && names.has('skill.md'))?.name;
    const isDeclared = above.some(({ names }) => DECLARATIONS.some((file) => names.has(file)));
    // Code and agents run with the rights that their files give them, wherever the settings let them be found.
    if (CODE_FOLDERS.has(path[0] ?? '') || DECLARATIONS.includes(name) || PROMPT.test(name) || (isDeclared && skill === undefined))
      return 'ask';
    if (skill !== undefined) {
      throw new FileRefused(
        'use_proposal',
        `'${segments.join('/')}' belongs to the skill '${skill}', which exists: use propose_skill_update. (A new skill of several files is made by one apply_patch)`,
      );
    }
    if (path[0] === 'skills' || name === 'skill.md') return this.config.new_skills === 'auto' ? 'free' : 'ask';
    return 'free';
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

/** What is being written, and loaded by nobody: a person is asked when it is activated. */
const STAGING = '.staging';
const CODE_FOLDERS: ReadonlySet<string> = new Set(['extensions', 'agents', 'node_modules']);
/** What makes a folder an extension or an agent. */
const DECLARATIONS: readonly string[] = ['manifest.yaml', 'agent.md'];
/** What an agent is told to be. */
const PROMPT = /^prompt\.(?:jinja2|j2|njk)$/;
/** What the kernel keeps, where the sandbox itself is the data folder. */
const STATE = /^(?:pith\.db.*|\.cache|logs)$/i;

function realPathOf(directory: string): string {
  try {
    return realpathSync(directory);
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT') return directory; // removed meanwhile: there is nothing to hide
    throw error;
  }
}
