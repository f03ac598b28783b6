import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { Clock } from 'pith';
import { isPlainMap, jsonOf } from '@pith/plain-data';
import { printableLine, hideKeys } from '@pith/plain-text';
import { startProcess } from '@pith/supervised-process';
import { within } from '@pith/promises';
import { askToEnd, type Program } from './contained.ts';
import { MOST_BYTES, TenSeconds } from './bounded-transport.ts';
import { asJson } from './tool-results.ts';
import { stripVTControlCharacters } from 'node:util';

const END_MS = 1000;
/** What is asked to end may have something to put in order, such as an `npx` that installs. */
const ASKED_MS = 2000;
/** Of its output, of whatever kind, and of its error stream, in ten seconds. */
const MOST_LINES = 20_000;
const MOST_STDERR = 64 * 1024 * 1024;
/** In one line, where it holds several. */
const MOST_OF_BATCH = 1000;

export interface ServerProgram extends Program {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A server that was started here: a message a line on its standard input and output. */
export class ServerProcess implements Transport {
  onclose?: () => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The first line of its output that was no message; null: all were. */
  nonProtocolOutput: string | null = null;
  #child: ChildProcess | null = null;
  #gone: Promise<void> = Promise.resolve();
  #isClosing = false;
  #hasAnswered = false;

  /** `lost` is called with the reason once it is over. */
  constructor(
    private readonly program: ServerProgram,
    private readonly ports: { readonly clock: Clock; readonly stderr: StderrTail; lost(why: string): void },
  ) {}

  async start(): Promise<void> {
    const { command, args, cwd, env } = this.program;
    const child = await startProcess([command, ...args], { cwd, env, stdio: 'pipe' });
    this.#child = child;
    child.stdin?.on('error', () => undefined); // it has ended, which `close` says
    this.#read(child.stdout as Readable);
    this.#listen(child.stderr as Readable);
    this.#gone = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        resolve();
        this.#end(signal === null ? `it ended${code === null ? '' : ` with code ${code}`}` : `it was ended by ${signal}`);
      });
      // What it started may hold its output open; what it printed last comes first.
      child.once('exit', () => void this.ports.clock.after(END_MS, () => (child.stdout?.destroy(), child.stderr?.destroy())));
    });
  }

  /** Resolves when the system has taken the message. */
  send(message: JSONRPCMessage): Promise<void> {
    const input: Writable | null | undefined = this.#child?.stdin;
    if (!input?.writable || this.#isClosing) return Promise.reject(new Error('it has ended'));
    if (input.writableLength > MOST_BYTES) {
      this.#stop(`it does not read what it is sent: ${MOST_BYTES} bytes wait`);
      return Promise.reject(new Error('it does not read what it is sent'));
    }
    return new Promise((resolve, reject) => {
      input.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(new Error('it has ended', { cause: error })) : resolve()));
    });
  }

  /** First it is asked: its input ends, then with a signal. One that never said a word may not read its input. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === null || this.#isClosing) return this.#gone;
    this.#isClosing = true;
    child.stdin?.end();
    const isGone = this.#hasAnswered && (await this.#isGone(END_MS));
    if (!isGone && child.pid !== undefined && askToEnd(child.pid, this.program.outer)) await this.#isGone(ASKED_MS);
    child.kill('SIGKILL'); // nothing happens to one that is gone
    await this.#isGone(END_MS);
    this.#end('it was stopped');
  }

  async #isGone(ms: number): Promise<boolean> {
    const gone = this.#gone.then(() => true);
    return (await within(this.ports.clock, ms, gone)) === true;
  }

  #end(why: string): void {
    if (this.#child === null) return;
    this.#child = null;
    this.ports.lost(why);
    this.onclose?.();
  }

  /** A line at a time. What is printed while it closes is thrown away, so that the server can end. */
  #read(stdout: Readable): void {
    const lines = new TenSeconds(this.ports.clock, MOST_LINES);
    let held: Buffer[] = [];
    let size = 0;
    const hold = (bytes: Buffer): void => {
      size += bytes.length;
      if (size <= MOST_BYTES) held.push(bytes);
      else this.#stop(`it sent a message longer than ${MOST_BYTES} bytes`);
    };
    stdout.on('error', () => undefined); // its end is told by `close`
    stdout.on('data', (bytes: Buffer) => {
      let from = 0;
      for (let end = bytes.indexOf(10); end >= 0 && !this.#isClosing; end = bytes.indexOf(10, from)) {
        hold(bytes.subarray(from, end));
        const line = Buffer.concat(held).toString('utf8').trim();
        [held, size, from] = [[], 0, end + 1];
        if (!lines.allows(1)) this.#stop(`it prints more than ${MOST_LINES} lines in 10 s to its output`);
        else if (line !== '' && !this.#isClosing) this.#take(line);
      }
      if (!this.#isClosing) hold(bytes.subarray(from));
    });
  }

  #listen(stderr: Readable): void {
    const bytesRead = new TenSeconds(this.ports.clock, MOST_STDERR);
    stderr.on('error', () => undefined); // nothing more is said
    stderr.on('data', (bytes: Buffer) => {
      if (this.#isClosing) return; // it is thrown away, so that the server can end
      this.ports.stderr.feed(bytes);
      if (!bytesRead.allows(bytes.length)) this.#stop(`it prints more than ${MOST_STDERR} bytes in 10 s to its error stream`);
    });
  }

  #stop(why: string): void {
    if (this.#isClosing) return;
    this.#child?.stdout?.destroy();
    this.ports.lost(why);
    void this.close();
  }

  #take(line: string): void {
    const messages = messagesIn(line);
    if (messages.length > MOST_OF_BATCH) return this.#stop(`it sent more than ${MOST_OF_BATCH} messages in one line`);
    for (const message of messages) if (!this.#isClosing) this.onmessage?.(message);
    if (messages.length > 0) this.#hasAnswered = true;
    else this.nonProtocolOutput ??= printableLine(line.slice(0, 1000), 120);
  }
}

/** The messages of a line, also of one that holds several; none: it is something else. What servers often leave out is added. */
export function messagesIn(line: string): readonly JSONRPCMessage[] {
  if (!/^[[{]/u.test(line)) return []; // something that it logs; an exception a line would cost too much
  const given = jsonOf(line);
  return (Array.isArray(given) ? given : [given]).filter(isPlainMap).filter(isMessage).map(asMessage);
}

function isMessage(given: Readonly<Record<string, unknown>>): boolean {
  return typeof given['method'] === 'string' || ('id' in given && ('result' in given || 'error' in given));
}

function asMessage(given: Readonly<Record<string, unknown>>): JSONRPCMessage {
  const { error, ...rest } = given;
  const isFailure = error !== undefined && error !== null;
  const result = 'result' in rest ? { result: isPlainMap(rest['result']) ? rest['result'] : { content: rest['result'] ?? [] } } : {};
  if (!isFailure) return { ...rest, ...result, jsonrpc: '2.0' } as unknown as JSONRPCMessage;
  const { result: _, ...answer } = rest;
  return { ...answer, error: failure(error), jsonrpc: '2.0' } as unknown as JSONRPCMessage;
}

function failure(given: unknown): object {
  const { code, message, ...rest } = isPlainMap(given) ? given : { message: given };
  return {
    ...rest,
    code: Number.isInteger(code) ? code : -32_000,
    message: typeof message === 'string' ? message : (asJson(message ?? given) ?? 'an error that is nested too deep to be shown'),
  };
}

const KEPT_LINES = 10;
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
    if (lines.length > 0) this.#lines = kept([...this.#lines, ...lines.slice(-4 * KEPT_LINES).map((line) => this.#shown(line))]);
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
  return lines.filter((line) => line.trim() !== '').slice(-KEPT_LINES);
}
