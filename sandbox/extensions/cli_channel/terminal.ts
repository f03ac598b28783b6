import type { TerminalStreams } from '@pith/line-editor';
import { PithError, type ChannelMessage, type TurnInfo } from 'pith';
import type { Conversation } from './conversation.ts';

/** The streams of a terminal, or what replaces them in tests. */
export type Terminal = TerminalStreams;

/** Raw streams, because a conversation edits lines and shows words as they come. */
export function processTerminal(): Terminal {
  return {
    get input() {
      return process.stdin; // opened by the first who reads it
    },
    output: process.stdout,
  };
}

/** A terminal that does not know its width reports nothing or 0. */
export function widthOf({ output }: Terminal): number {
  return output.columns || 80;
}

/** The end of a chunk that begins a control sequence or a line's end, of which the next chunk has the rest. */
export function unfinishedEnd(chunk: string): string {
  return UNFINISHED.exec(chunk)?.[0] ?? '';
}

// oxlint-disable-next-line no-control-regex
const UNFINISHED = /(?:\r|\u001b(?:\[[0-?]*[ -/]*|\][^\u0007\u001b]{0,1000}\u001b?)?)$/u;

/** Where a turn is shown. */
export interface Surface {
  write(text: string): void;
  /** Shows rows that last only while something is awaited, in the place of those before. */
  live(rows: readonly string[]): void;
  /** How much of them is shown. */
  readonly liveRows: 'none' | 'first' | 'all';
}

/** A terminal that nobody else writes to: one live row, which goes before anything is printed. */
export function directSurface({ output }: Terminal): Surface {
  let isShown = false;
  const clear = () => {
    if (isShown) output.write('\r\u001b[2K');
    isShown = false;
  };
  return {
    write(text) {
      clear();
      output.write(text);
    },
    live([row]) {
      clear();
      if (row === undefined) return;
      output.write(row);
      isShown = true;
    },
    liveRows: 'first',
  };
}

type Shown = Pick<Conversation, 'threadId' | 'userId'>;

/** The person at a terminal that names nobody. */
const LOCAL = 'local';

/** The terminals with a conversation, at most one in a process in practice. */
export class Terminals {
  readonly #open = new Set<{ readonly at: Shown; readonly show: (message: ChannelMessage) => void }>();
  #delivered = 0;
  #windows = new Map<string, number>();

  /** Remembers how many tokens the model of a turn takes. */
  saw({ model: { ref, contextWindow } }: Pick<TurnInfo, 'model'>): void {
    if (contextWindow !== null) this.#windows.set(ref, contextWindow);
  }

  /** Tokens that a model takes, as far as a turn has reported it; null: not known. */
  windowOf(model: string): number | null {
    return this.#windows.get(model) ?? null;
  }

  /** `at`: the conversation that it has, whose thread may become another. Returns its close. */
  open(at: Shown, show: (message: ChannelMessage) => void): () => void {
    const terminal = { at, show };
    this.#open.add(terminal);
    return () => this.#open.delete(terminal);
  }

  /** `target` is a thread id, or anything else for every terminal of whom it concerns. Throws `provider_unavailable` when none is open. */
  deliver(message: ChannelMessage, target: string): string {
    const all = [...this.#open].filter(({ at }) => message.userId === undefined || message.userId === (at.userId ?? LOCAL));
    const named = all.filter(({ at }) => at.threadId === target);
    const reached = named.length > 0 ? named : all;
    if (reached.length === 0)
      throw new PithError('provider_unavailable', 'no terminal is open to show this', { cure: 'start one with pith chat' });
    for (const terminal of reached) terminal.show(message);
    this.#delivered += 1;
    return `terminal-${this.#delivered}`;
  }
}
