import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { isInside, isPassing, NO_REGULAR_FILE } from '@pith/safe-files';
import { ABOVE_LIMIT, FRONTMATTER_LIMIT } from '../format/frontmatter.ts';
import { type ParsedSkill, parseHead, unreadable } from '../format/skill-file.ts';
import { reasonOf } from '../reading/reason.ts';
import { severalLinks } from '../reading/skill-text.ts';
import { isSame, isSettled, stampOf, type Stats } from '../tree/stamp.ts';
import type { FoundSkill, GoodVersion, ScanOptions } from './found.ts';

/** In bytes; enough for nearly every frontmatter. */
const FIRST_READ = 4096;
const LONGEST = ABOVE_LIMIT + FRONTMATTER_LIMIT + 256;
const buffer = Buffer.allocUnsafeSlow(LONGEST);
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** An existing SKILL.md. */
export interface SkillPlace {
  /** The path of its folder. */
  readonly path: string;
  /** The same with links resolved. */
  readonly real: string;
  readonly file: string;
  readonly stats: Stats;
  /** The name of its plugin, or null. */
  readonly plugin: string | null;
}

/** Reads the skill files of one source. Returns `before` itself when nothing has changed. */
export class SkillReader {
  /** The last file is a link, or could not be read just now. */
  #isDoubtful = false;

  /** `roots`: where links may lead. */
  constructor(
    private readonly roots: readonly string[],
    private readonly options: Pick<ScanOptions, 'now' | 'goodBody' | 'isRestored'>,
  ) {}

  /** True when nothing has to be read. */
  isKnown({ path, real, file, stats, plugin }: SkillPlace, before: FoundSkill | undefined): before is FoundSkill {
    return (
      before?.settled === true &&
      before.id === idOf(path, plugin) &&
      before.file === file &&
      before.realDirectory === real &&
      isSame(before.stamp, stats)
    );
  }

  async read(place: SkillPlace, before: FoundSkill | undefined): Promise<FoundSkill> {
    const { path, real, file, stats, plugin } = place;
    const id = idOf(path, plugin);
    const same = before?.id === id && before.file === file && before.realDirectory === real && isSame(before.stamp, stats);
    const about = { id: idOf(path), file, mode: 'load' } as const;
    this.#isDoubtful = false;
    const foreign = stats.isFile() ? severalLinks(stats.nlink, real + file.slice(path.length)) : NO_REGULAR_FILE; // it is not even opened
    const parsed = foreign === null ? await this.#parse(about) : unreadable(about, foreign);
    const stamp = stampOf(stats);
    const settled = !this.#isDoubtful && isSettled(stamp, this.options.now()); // otherwise every scan checks it
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
    if (before === undefined || this.options.isRestored === true) return null;
    if (!before.parsed.valid) return before.good;
    return { fields: before.parsed.fields, tokens: before.parsed.tokens, body: this.options.goodBody?.(file) ?? null };
  }

  async #parse(file: { id: string; file: string; mode: 'load' }): Promise<ParsedSkill> {
    const parsed = await this.#parsed(file, false);
    // Then the first paragraph of the text is the description.
    const isUndescribed = parsed.diagnostics.some(({ code }) => code === 'description_missing' || code === 'frontmatter_and_text_missing');
    return isUndescribed ? this.#parsed(file, true) : parsed;
  }

  async #parsed(file: { id: string; file: string; mode: 'load' }, withText: boolean): Promise<ParsedSkill> {
    const head = readHead(file.file, this.roots, withText, () => (this.#isDoubtful = true));
    if ('problem' in head) return unreadable(file, head.problem);
    return parseHead(head.text, { ...file, size: head.size });
  }
}

/** The start of a file, at least to the end of its frontmatter. */
interface Head {
  readonly text: string;
  readonly size: number;
}

/** Reads to the closing `---`, or also some text below it, into one buffer that all scans share. A link must lead into one of `roots`. */
function readHead(file: string, roots: readonly string[], withText: boolean, onDoubt: () => void): Head | { readonly problem: string } {
  let descriptor: number | null = null;
  try {
    descriptor = openInside(file, roots, onDoubt);
    if (descriptor === null) return { problem: 'it is a link that leads out of its skill source' };
    let length = readSync(descriptor, buffer, 0, FIRST_READ, 0);
    const textOf = () => (withText ? buffer.toString('utf8', 0, length) : headText(length));
    if (length < FIRST_READ) return { text: textOf(), size: length };
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return { problem: NO_REGULAR_FILE };
    if (withText || closingAt(length) === -1) length += readSync(descriptor, buffer, length, LONGEST - length, length);
    return { text: textOf(), size: stats.size };
  } catch (error) {
    if (isPassing(error)) onDoubt();
    return { problem: reasonOf(error) };
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

/** Opens without waiting for a pipe's writer; null for a link out of `roots`. Throws the file system's error. */
function openInside(file: string, roots: readonly string[], onLink: () => void): number | null {
  try {
    return openSync(file, FLAGS | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
  }
  onLink();
  const real = realpathSync.native(file);
  return roots.some((root) => isInside(real, root)) ? openSync(real, FLAGS | constants.O_NOFOLLOW) : null;
}

/** Decodes only to the end of the frontmatter, where the bytes show it. */
function headText(length: number): string {
  const closing = closingAt(length);
  return buffer.toString('utf8', 0, closing === -1 ? length : closing);
}

/** The index after the first line, below the opening one, that is exactly `---`; -1 when there is none, or when something is above them. */
function closingAt(length: number): number {
  const first = buffer[0] === 0xef ? 3 : 0; // behind a byte order mark
  if (buffer.toString('latin1', first, first + 3) !== '---') return -1; // a comment may have such lines, too
  const at = buffer.indexOf('\n---', first + 3, 'latin1');
  if (at === -1 || at + 4 >= length) return -1;
  return buffer[at + 4] === 10 ? at + 5 : -1;
}

/** The form in which ids and names are compared, so that a composed text finds a folder's decomposed name. */
export function canonical(name: string): string {
  return PLAIN.test(name) ? name : name.normalize('NFC');
}

const PLAIN = /^[\x20-\x7e]*$/;

/** The id of the skill in that folder. A plugin's skill is `plugin:folder`, so that several plugins may each have a `start`. */
export function idOf(directory: string, plugin: string | null = null): string {
  const folder = canonical(directory.slice(directory.lastIndexOf('/') + 1));
  return plugin === null ? folder : `${plugin}:${folder}`;
}
