import { loadRepairing, parseHead, unreadable, withPatternsChecked, type ParsedSkill, type Repairing } from '../format/skill-file.ts';
import type { FoundSkill, GoodVersion, ScanOptions } from './found.ts';
import { idOf } from './names.ts';
import { severalLinks } from './regular-file.ts';
import { readHead } from './skill-head.ts';
import { isSame, isSettled, stampOf, type Stats } from './stamp.ts';

/** A SKILL.md that is there. */
export interface SkillPlace {
  /** Of its folder. */
  readonly path: string;
  /** The same without links. */
  readonly real: string;
  readonly file: string;
  readonly stats: Stats;
}

/** Reads the skill files of one source. Returns `before` itself when they say what they said. */
export class SkillReader {
  readonly #options: Pick<ScanOptions, 'now' | 'goodBody'>;
  readonly #roots: readonly string[];
  #repairing: Repairing | null = null;

  /** `roots`: where links may lead. */
  constructor(roots: readonly string[], options: Pick<ScanOptions, 'now' | 'goodBody'>) {
    this.#roots = roots;
    this.#options = options;
  }

  get now(): () => number {
    return this.#options.now;
  }

  /** True when there is nothing to read. */
  isKnown({ real, file, stats }: SkillPlace, before: FoundSkill | undefined): before is FoundSkill {
    return before?.settled === true && before.file === file && before.realDirectory === real && isSame(before.stamp, stats);
  }

  async read(place: SkillPlace, before: FoundSkill | undefined): Promise<FoundSkill> {
    const { path, real, file, stats } = place;
    const same = before !== undefined && before.file === file && before.realDirectory === real && isSame(before.stamp, stats);
    const id = idOf(path);
    const about = { id, file, mode: 'load' } as const;
    const foreign = severalLinks(stats.nlink, real + file.slice(path.length));
    const parsed = foreign === null ? await this.#parse(about) : unreadable(about, foreign);
    const stamp = stampOf(stats);
    const settled = isSettled(stamp, this.#options.now());
    if (same && JSON.stringify(before.parsed) === JSON.stringify(parsed)) {
      before.settled = settled;
      return before;
    }
    return {
      id,
      directory: path,
      realDirectory: real === path ? path : real,
      file,
      stamp,
      settled,
      parsed,
      good: parsed.valid ? null : this.#goodVersion(before, file),
      digest: null,
      bodyTokens: null,
    };
  }

  #goodVersion(before: FoundSkill | undefined, file: string): GoodVersion | null {
    if (before === undefined) return null;
    if (!before.parsed.valid) return before.good;
    return { fields: before.parsed.fields, tokens: before.parsed.tokens, body: this.#options.goodBody(file) };
  }

  async #parse(file: { id: string; file: string; mode: 'load' }): Promise<ParsedSkill> {
    const head = readHead(file.file, this.#roots);
    if ('problem' in head) return unreadable(file, head.problem);
    const about = { ...file, size: head.size };
    const parsed = parseHead(head.text, about, this.#repairing);
    if (parsed !== null) return withPatternsChecked(parsed, head.text, file);
    this.#repairing ??= await loadRepairing();
    return withPatternsChecked(parseHead(head.text, about, this.#repairing) as ParsedSkill, head.text, file);
  }
}
