import { realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import type { Jail } from './jail.ts';
import { codeOf } from './refused.ts';
import { runsLater } from './runs-later.ts';

/** Why an agent may not change the file at a path without a question. */
export type Guard =
  /** State or settings, which contain data of others. */
  | { readonly kind: 'state' }
  /** It belongs to an existing skill: the name of the skill's folder. */
  | { readonly kind: 'skill'; readonly skill: string }
  /** It decides what runs, or what an agent reads, later and without a question. */
  | { readonly kind: 'later'; readonly why: string };

/** The one list of guarded places. `data`: the folder of all state, wherever it is. */
export class GuardedPlaces {
  constructor(
    private readonly jail: Jail,
    private readonly data: () => string,
  ) {}

  holdsState(names: readonly string[]): boolean {
    const first = names[0]?.toLowerCase() ?? '';
    const settings = names.length === 1 && /^pith(?:\..*)?\.ya?ml$/.test(first);
    return first === 'data' || settings || this.isInData(names) || names.some((name) => /^\.(?:env(?:\..*)?|git)$/i.test(name));
  }

  /** null: the place is not guarded. `named`: the path that `runsLater` judges. */
  async guardOf(names: readonly string[], named = names): Promise<Guard | null> {
    if (this.holdsState(names)) return { kind: 'state' };
    const above = await this.foldersAround(names);
    const skill = above.find((folder) => folder.name !== '' && folder.names.has('skill.md'))?.name;
    if (skill !== undefined && !CODE_FOLDERS.has(names[0]?.toLowerCase() ?? '')) return { kind: 'skill', skill };
    const declared = above.some((folder) => DECLARATIONS.some((file) => folder.names.has(file)));
    const why = declared ? 'is in the folder of an extension or an agent' : runsLater(named);
    return why === null ? null : { kind: 'later', why };
  }

  /** The folders above a path, nearest first and the sandbox last, with their entries in lower case. */
  private async foldersAround(names: readonly string[]) {
    const found = [];
    for (let depth = names.length; depth >= 0; depth -= 1) {
      const held = await this.jail.names(names.slice(0, depth));
      found.push({ name: names[depth - 1] ?? '', names: new Set(held.map((each) => each.toLowerCase())) });
    }
    return found;
  }

  /** True below the data folder of the settings, also through a link or in another case. */
  private isInData(names: readonly string[]): boolean {
    const inJail = relative(this.jail.root, realPathOf(this.data()));
    if (inJail === '..' || inJail.startsWith(`..${sep}`) || isAbsolute(inJail)) return false;
    if (inJail === '') return STATE.test(names[0] ?? '');
    return inJail.split(sep).every((name, index) => names[index]?.toLowerCase() === name.toLowerCase());
  }
}

/** Skills in these folders are part of code. */
const CODE_FOLDERS: ReadonlySet<string> = new Set(['extensions', 'agents']);
/** The files that make a folder an extension or an agent, wherever it is. */
const DECLARATIONS: readonly string[] = ['manifest.yaml', 'agent.md'];
/** The kernel's state, where the sandbox itself is the data folder. */
const STATE = /^(?:pith\.db.*|\.cache|logs)$/i;

function realPathOf(directory: string): string {
  try {
    return realpathSync.native(directory);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return directory; // removed meanwhile: there is nothing to guard
    throw error;
  }
}
