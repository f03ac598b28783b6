import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { Clock } from 'pith';
import { isPlainMap, jsonOf } from '@pith/plain-data';
import { printableLine } from '@pith/plain-text';
import { startProcess } from '@pith/supervised-process';
import { within } from '@pith/promises';
import { askToEnd, type Program } from './contained.ts';
import type { StderrTail } from './stderr-tail.ts';
import { MOST_BYTES } from './bounded-transport.ts';
import { Pace, PacedLines } from './paced-lines.ts';
import { asJson } from './written.ts';

const END_MS = 1000;
/** What is asked to end may have something to put in order, such as an `npx` that installs. */
const ASKED_MS = 2000;
/** What is read of the error stream in a second; who writes more waits. */
const MOST_STDERR_A_SECOND = 1024 * 1024;
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
  #lines: PacedLines | null = null;
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
    this.#lines = new PacedLines(child.stdout as Readable, this.ports.clock, {
      take: (line) => this.#take(line),
      stop: (why) => this.#stop(why),
    });
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
    this.#lines?.end();
    child.stderr?.resume();
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

  #listen(stderr: Readable): void {
    const pace = new Pace(this.ports.clock, MOST_STDERR_A_SECOND, () => stderr.resume());
    stderr.on('error', () => undefined); // nothing more is said
    stderr.on('data', (bytes: Buffer) => {
      if (this.#isClosing) return; // it is thrown away, so that the server can end
      this.ports.stderr.feed(bytes);
      if (!pace.allows(bytes.length)) stderr.pause();
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
