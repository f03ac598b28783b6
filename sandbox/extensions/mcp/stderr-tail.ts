import { stripVTControlCharacters } from 'node:util';
import { hideKeys, printableLine } from '@pith/plain-text';

const MOST_LINES = 10;
const LONGEST_LINE = 300;
/** Of one line before its end has come; the rest of it is not kept. */
const MOST_HELD = 4096;

/** The last lines that a program printed: printable, cut, without secrets. However much it prints, no more than these is held. */
export class StderrTail {
  readonly #decoder = new TextDecoder();
  #lines: readonly string[] = [];
  #held = '';

  /** `hide` takes out what must not be seen. */
  constructor(private readonly hide: (text: string) => string) {}

  feed(bytes: Uint8Array): void {
    const [first = '', ...others] = this.#decoder.decode(bytes, { stream: true }).split(/\r\n|\n|\r/u);
    const lines = [(this.#held + first).slice(0, MOST_HELD), ...others.map((each) => each.slice(0, MOST_HELD))];
    this.#held = lines.pop() ?? '';
    if (lines.length > 0) this.#lines = kept([...this.#lines, ...lines.slice(-4 * MOST_LINES).map((line) => this.#shown(line))]);
  }

  /** Oldest first. */
  get lines(): readonly string[] {
    return kept([...this.#lines, this.#shown(this.#held)]);
  }

  /** The line that most likely says why it failed; null: it printed nothing. */
  get reason(): string | null {
    const lines = this.lines.filter((line) => !NO_REASON.test(line));
    const [own, ofNpm] = [lines.filter((line) => !NPM.test(line)), lines.filter((line) => NPM.test(line))];
    return (
      own.findLast((line) => LIKELY.test(line)) ?? ofNpm.find((line) => !NPM_DETAIL.test(line)) ?? lines.at(-1) ?? this.lines.at(-1) ?? null
    );
  }

  #shown(line: string): string {
    return printableLine(hideKeys(this.hide(stripVTControlCharacters(line))).trimEnd(), LONGEST_LINE);
  }
}

/** Frames of a stack, marks below a line of source, the version that Node ends a crash with. */
const NO_REASON =
  /^\s*(?:at |File "|\^|~|Node\.js v|\(Use `node|npm (?:warn|WARN|notice) |npm (?:error|ERR!)$|npm (?:error|ERR!) (?:A complete log|Log files|.*_logs)|\}|\{)/u;
/** It says first what is wrong, then at length what may help. */
const NPM = /^npm (?:error|ERR!) /u;
const NPM_DETAIL = /^npm (?:error|ERR!) (?:code|errno|syscall|path|dest)\b/u;
const LIKELY =
  /error|fail|cannot|can't|could not|not found|no such|denied|missing|invalid|required|must|unknown|usage|refused|expired|not set/iu;

function kept(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => line.trim() !== '').slice(-MOST_LINES);
}
