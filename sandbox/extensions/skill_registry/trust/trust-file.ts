import { join } from 'node:path';
import type { Clock } from 'pith';
import { ChangeRefused, exclusively } from '@pith/folder-changes';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import type { TreeDigests } from '@pith/skill-files';
import { isPlainMap, type PlainMap } from '@pith/plain-data';

/** What a person has seen of one skill. */
export interface TrustedTree extends TreeDigests {
  /** `SkillTree.stats` at that time. */
  readonly stats: string;
  /** A later tree that waits because of what a scan of its texts found, and the reason; absent: none. */
  readonly flagged?: { readonly tree: string; readonly why: string };
  /** Nothing scanned it when it was recorded: who can scan does. */
  readonly unscanned?: true;
  /** A person took the trust back, though its source is trusted. */
  readonly refused?: true;
}

/** What a person trusts of one source. */
export interface TrustedSource {
  /** The whole of it, not single skills only. */
  readonly whole: boolean;
  /** Trusted with the project, so that it counts only as long as that is. */
  readonly withProject: boolean;
  /** When, in ISO 8601. */
  readonly at: string;
  /** By the skill's folder, relative to the source. */
  readonly skills: ReadonlyMap<string, TrustedTree>;
}

export interface TrustRecords {
  /** By the source's real path. */
  readonly sources: ReadonlyMap<string, TrustedSource>;
  /** Why the file counts for nothing; null when all is well. */
  readonly problem: string | null;
}

const FORMAT = 1;
const FILE = 'trust.json';
const NONE: TrustRecords = { sources: new Map(), problem: null };

/** `trust.json` in a data folder: read again when it has changed, written by one process at a time. */
export class TrustFile {
  readonly file: string;
  readonly #folder: StateFolder;
  #known = NONE;
  #version = '';

  constructor(dataDirectory: string) {
    this.#folder = stateFolder(dataDirectory);
    this.file = join(dataDirectory, FILE);
  }

  /** As it is now. What is damaged or cannot be read trusts nothing. */
  read(): TrustRecords {
    try {
      const version = this.#folder.stamp(FILE);
      if (version === '') return NONE;
      if (version === this.#version) return this.#known;
      this.#known = { sources: parse(String(this.#folder.read(FILE) ?? '')), problem: null };
      this.#version = version;
      return this.#known;
    } catch (error) {
      this.#version = '';
      return { sources: NONE.sources, problem: `${this.file} cannot be used: ${String(error)}` };
    }
  }

  /** Changes what is trusted of the source at `path`; null removes it. Rejects `trust_busy` when another process does not let go. */
  async change(path: string, clock: Clock, change: (before: TrustedSource | null) => TrustedSource | null): Promise<void> {
    const words = { code: 'trust_busy', message: 'another process is changing what is trusted', cure: 'try again when it has ended' };
    const busy = (where: string) => new ChangeRefused(words, { where });
    await exclusively({ folder: this.#folder, name: `${FILE}.lock`, busy }, clock, async () => {
      const sources = new Map(this.read().sources);
      const next = change(sources.get(path) ?? null);
      if (next === null) sources.delete(path);
      else sources.set(path, next);
      await this.#folder.write(FILE, serialise(sources));
    });
  }
}

function serialise(sources: ReadonlyMap<string, TrustedSource>): string {
  const rows = [...sources].map(([path, { whole, withProject, at, skills }]) => ({
    path,
    whole,
    ...(withProject ? { withProject } : {}),
    at,
    skills: [...skills].map(([folder, tree]) => ({ folder, ...tree })),
  }));
  return `${JSON.stringify({ format: FORMAT, sources: rows }, null, 2)}\n`;
}

/** Throws at the first thing that is not as `serialise` writes it. */
function parse(text: string): ReadonlyMap<string, TrustedSource> {
  const { format, sources } = JSON.parse(text) as Record<string, unknown>;
  if (format !== FORMAT) throw new Error(`its format is ${String(format)}, not ${FORMAT}`);
  return new Map(
    listOf(sources).map((row) => {
      const skills = listOf(row['skills']).map((skill): [string, TrustedTree] => [
        textOf(skill['folder']),
        {
          tree: textOf(skill['tree']),
          risk: textOf(skill['risk']),
          stats: textOf(skill['stats']),
          ...(skill['unscanned'] === true ? { unscanned: true as const } : {}),
          ...(skill['refused'] === true ? { refused: true as const } : {}),
          ...(isPlainMap(skill['flagged'])
            ? { flagged: { tree: textOf(skill['flagged']['tree']), why: textOf(skill['flagged']['why']) } }
            : {}),
        },
      ]);
      const [whole, withProject] = [row['whole'] === true, row['withProject'] === true];
      return [textOf(row['path']), { whole, withProject, at: textOf(row['at']), skills: new Map(skills) }];
    }),
  );
}

function listOf(value: unknown): readonly PlainMap[] {
  if (!Array.isArray(value) || !value.every(isPlainMap)) throw new Error('a list is missing');
  return value;
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new Error('a text is missing');
  return value;
}
