import type { SkillFinding } from 'pith/skill_registry';

/** One thing in a skill that a person should look at before it is trusted. */
export type ScanFinding = SkillFinding;

/** What was found in a skill's folder. Nothing of it was run. */
export interface SkillInspection {
  readonly files: readonly { readonly path: string; readonly size: number }[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** Files that can be run. */
  readonly scripts: readonly string[];
  /** As SKILL.md names them: `path:Export`. */
  readonly toolsets: readonly string[];
  /** Worst first. */
  readonly findings: readonly ScanFinding[];
}
export type ScanSeverity = ScanFinding['severity'];

/** What a scanner noticed in one text. */
export type Hit = Omit<ScanFinding, 'file'>;

/** One text file of a skill. */
export interface ScannedText {
  /** Relative to the skill's folder. */
  readonly path: string;
  /** `code` is run, `prose` is read. */
  readonly kind: 'code' | 'prose';
  readonly text: string;
  /** Lines as a shell reads them: those that go on are joined. */
  readonly lines: readonly ScannedLine[];
}

export interface ScannedLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  /** As a person reads it, see `plainLine`. */
  readonly plain: string;
}

/** Yields null where it has looked at much, so that others may work. */
export type Scanner = (scanned: ScannedText) => Iterable<Hit | null>;

/** The lines, as many at once as are looked at between two pauses. */
export function* batches(lines: readonly ScannedLine[]): Iterable<readonly ScannedLine[]> {
  for (let from = 0; from < lines.length;) {
    let to = from;
    for (let length = 0; to < lines.length && length < AT_ONCE; to++) length += lines[to]!.text.length + 20;
    yield lines.slice(from, to);
    from = to;
  }
}

/** Characters of a batch: a few milliseconds. */
const AT_ONCE = 16 * 1024;

const ORDER: Readonly<Record<ScanSeverity, number>> = { high: 0, medium: 1, low: 2 };

/** Worst first, then by place. */
export function bySeverity(a: ScanFinding, b: ScanFinding): number {
  return ORDER[a.severity] - ORDER[b.severity] || (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line);
}

/** What a message may show of a text: one line, visible characters, at most so many. */
export function excerpt(text: string, most = 80): string {
  const visible = text
    .replace(/[^\P{C}\t]/gu, '')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = Array.from(visible.slice(0, most * 2));
  return characters.length <= most && visible.length <= most * 2 ? visible : `${characters.slice(0, most - 1).join('')}…`;
}

/** Tells on which line an offset lies, in linear time over growing offsets. */
export function lineCounter(text: string): (at: number) => number {
  let line = 1;
  let end = endFrom(text, 0);
  let last = 0;
  return (at) => {
    if (at < last) {
      line = 1;
      end = endFrom(text, 0);
    }
    last = at;
    for (; end < at; end = endFrom(text, end + 1)) line += 1;
    return line;
  };
}

function endFrom(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? Infinity : end;
}
