import { FRONTMATTER_LIMIT } from '@pith/skill-files';
import { type Hit, lineCounter, type Scanner } from './scan-finding.ts';

/** Characters that are not seen, or that change the order in which others are seen. */
const SUSPECT =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u{E0000}-\u{E0FFF}\u202A-\u202E\u2066-\u2069\u200B-\u200F\u061C\u2060-\u2064\u206A-\u206F\u180E\u00AD\uFEFF\u115F\u1160\u3164\uFFA0\uFE00-\uFE0F\u001B]/gu;
/** An emoji flag of a region: a black flag, then tags. */
const FLAG = /\u{1F3F4}[\u{E0020}-\u{E007E}]{1,8}\u{E007F}/gu;
/** So many in a row, one after the other, hold a message. */
const MESSAGE = 4;

interface Kind {
  readonly code: 'hidden_text' | 'hidden_character' | 'text_direction' | 'terminal_control' | 'look_alike';
  readonly severity: Hit['severity'];
  readonly message: string;
}

const HIDDEN_TEXT: Kind = { code: 'hidden_text', severity: 'high', message: 'contains text in characters that nobody sees' };
const DIRECTION: Kind = {
  code: 'text_direction',
  severity: 'high',
  message: 'turns the direction of text, so that it reads otherwise than it is',
};
const INVISIBLE: Kind = { code: 'hidden_character', severity: 'medium', message: 'has invisible characters' };
const MARK: Kind = { code: 'hidden_character', severity: 'low', message: 'has invisible marks' };
const ESCAPE: Kind = { code: 'terminal_control', severity: 'medium', message: 'has control sequences of a terminal' };

/** Invisible and bidirectional characters; those that scripts and emoji need are left alone. One finding a line and kind. */
export const hiddenCharacters: Scanner = function* ({ path, text: written }) {
  const head = /^skill\.md$/i.test(path) ? (FRONTMATTER.exec(written.slice(0, LONGEST_HEAD))?.[0] ?? '') : '';
  const whole = head === '' ? written : asParsed(head) + written.slice(head.length);
  const name = NAME.exec(head);
  if (name !== null && mixesScripts(name[1]!))
    yield {
      severity: 'medium',
      code: 'look_alike',
      line: head.slice(0, name.index).split('\n').length,
      message: 'has a name with letters of several scripts, which may look like another name',
    };
  const text = whole.includes('\u{E007F}') ? whole.replace(FLAG, (flag) => ' '.repeat(flag.length)) : whole;
  const lineAt = lineCounter(text);
  let run = 0;
  let count = 0;
  let end = -1;
  let seen = '';
  for (const match of text.matchAll(SUSPECT)) {
    if (++count % AT_ONCE === 0) yield null;
    const at = match.index;
    const point = match[0].codePointAt(0)!;
    run = at === end ? run + 1 : 1;
    end = at + match[0].length;
    const kind = kindOf(point, run, text, at);
    if (kind === null) continue;
    const line = lineAt(at);
    const key = `${line} ${kind.code} ${kind.severity}`;
    if (key === seen) continue;
    seen = key;
    yield {
      severity: kind.severity,
      code: kind.code,
      line,
      message: `${kind.message} (U+${point.toString(16).toUpperCase().padStart(4, '0')})`,
    };
  }
};

/** Characters between two pauses. */
const AT_ONCE = 5000;
const FRONTMATTER = /^\uFEFF?---\r?\n[^]*?\n---/;
/** A longer one is none to those who read skills. */
const LONGEST_HEAD = FRONTMATTER_LIMIT + 256;
const NAME = /^name:[^\S\n]*(.*)$/m;

/** With what the escapes of YAML stand for, where that is not seen. */
function asParsed(head: string): string {
  return head.replace(/\\(?:x([\da-f]{2})|u([\da-f]{4})|U([\da-f]{8}))/gi, (escape: string, ...digits: readonly (string | undefined)[]) => {
    const point = Number.parseInt(digits.slice(0, 3).find((each) => each !== undefined) ?? '', 16);
    const character = point <= 0x10ffff ? String.fromCodePoint(point) : '';
    return character.search(SUSPECT) === 0 ? character : escape;
  });
}

function mixesScripts(name: string): boolean {
  return [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u].filter((script) => script.test(name)).length > 1;
}

function kindOf(point: number, run: number, text: string, at: number): Kind | null {
  if (point >= 0xe0000 && point <= 0xe007f) return HIDDEN_TEXT;
  const selector = (point >= 0xfe00 && point <= 0xfe0f) || point >= 0xe0100;
  if (run >= MESSAGE) return HIDDEN_TEXT;
  if (selector) return null;
  if ((point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069)) return DIRECTION;
  if (point === 0x1b) return ESCAPE;
  if (point === 0xfeff && at === 0) return null;
  if (point === 0x200c || point === 0x200d) return joins(text, at) ? null : INVISIBLE;
  return point === 0x200e || point === 0x200f || point === 0x061c || point === 0x00ad ? MARK : INVISIBLE;
}

/** Between emoji, and in scripts whose letters join. */
function joins(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 3), at);
  return /(?:[\p{Extended_Pictographic}\p{EMod}\uFE0F]|[^\P{L}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]|\p{M})$/u.test(before);
}
