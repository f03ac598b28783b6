import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { Clock } from 'pith';
import { isPlainMap } from '@pith/plain-data';
import { printableLine } from '@pith/plain-text';
import { startProcess } from '@pith/held-process';
import { within } from '@pith/promises';
import { askToEnd, type Program } from './contained.ts';
import type { LastWords } from './last-words.ts';
import { MOST_BYTES } from './limits.ts';

const END_MS = 1000;
/** What is asked to end may have something to put in order, such as an `npx` that installs. */
const ASKED_MS = 2000;
/** What is read of the error stream in a second; who writes more waits. */
const MOST_SAID_A_SECOND = 1024 * 1024;

export interface ServerProgram extends Program {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A server that was started here: a message a line on its standard input and output. */
export class ServerProcess implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The first line of its output that was no message; null: all were. */
  noise: string | null = null;
  readonly #program: ServerProgram;
  readonly #clock: Clock;
  readonly #words: LastWords;
  readonly #lost: (why: string) => void;
  #child: ChildProcess | null = null;
  #gone: Promise<void> = Promise.resolve();
  #held: Buffer[] = [];
  #size = 0;
  #isClosing = false;
  #hasAnswered = false;

  /** `lost` is called with the reason once it is over. */
  constructor(
    program: ServerProgram,
    { clock, words, lost }: { readonly clock: Clock; readonly words: LastWords; lost(why: string): void },
  ) {
    this.#program = program;
    this.#clock = clock;
    this.#words = words;
    this.#lost = lost;
  }

  async start(): Promise<void> {
    const { command, args, cwd, env } = this.#program;
    const child = await startProcess([command, ...args], { cwd, env, stdio: 'pipe' });
    this.#child = child;
    child.stdin?.on('error', () => undefined); // it has ended, which `close` says
    child.stdout?.on('error', () => undefined).on('data', (bytes: Buffer) => this.#read(bytes));
    this.#listen(child.stderr as Readable);
    this.#gone = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        resolve();
        this.#end(signal === null ? `it ended${code === null ? '' : ` with code ${code}`}` : `it was ended by ${signal}`);
      });
      // What it started may hold its output open; what it printed last comes first.
      child.once('exit', () => void this.#clock.after(END_MS, () => (child.stdout?.destroy(), child.stderr?.destroy())));
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
    if (!isGone && child.pid !== undefined && askToEnd(child.pid, this.#program.outer)) await this.#isGone(ASKED_MS);
    child.kill('SIGKILL'); // nothing happens to one that is gone
    await this.#isGone(END_MS);
    this.#end('it was stopped');
  }

  async #isGone(ms: number): Promise<boolean> {
    return (
      (await within(
        this.#clock,
        ms,
        this.#gone.then(() => true),
      )) === true
    );
  }

  #end(why: string): void {
    if (this.#child === null) return;
    this.#child = null;
    this.#lost(why);
    this.onclose?.();
  }

  #listen(said: Readable): void {
    let size = 0;
    said.on('error', () => undefined); // nothing more is said
    said.on('data', (bytes: Buffer) => {
      this.#words.feed(bytes);
      if (size === 0) this.#clock.after(1000, () => ((size = 0), said.resume()));
      size += bytes.length;
      if (size > MOST_SAID_A_SECOND) said.pause();
    });
  }

  #read(bytes: Buffer): void {
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      this.#hold(bytes.subarray(from, end));
      const line = Buffer.concat(this.#held).toString('utf8');
      this.#held = [];
      this.#size = 0;
      from = end + 1;
      if (this.#isClosing) return;
      this.#take(line.trim());
    }
    this.#hold(bytes.subarray(from));
  }

  #hold(bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.#size <= MOST_BYTES) return void this.#held.push(bytes);
    this.#held = [];
    this.#stop(`it sent a message longer than ${MOST_BYTES} bytes`);
  }

  #stop(why: string): void {
    if (this.#isClosing) return;
    this.#child?.stdout?.destroy();
    this.#lost(why);
    void this.close();
  }

  #take(line: string): void {
    if (line === '') return;
    const messages = messagesIn(line);
    for (const message of messages) this.onmessage?.(message);
    if (messages.length > 0) return void (this.#hasAnswered = true);
    this.noise ??= printableLine(line, 120);
    this.onerror?.(new Error('it printed a line that is no message'));
  }
}

/** The messages of a line, also of one that holds several; none: it is something else. What servers often leave out is added. */
export function messagesIn(line: string): readonly JSONRPCMessage[] {
  let given: unknown;
  try {
    given = JSON.parse(line);
  } catch {
    return []; // something that it logs
  }
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
    message: typeof message === 'string' ? message : JSON.stringify(message ?? given),
  };
}
