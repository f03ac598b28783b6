import type { ExtensionContext, TopicMap, TurnInfo } from 'pith';
import { printableLine } from '@pith/plain-text';
import { sha256 } from '@pith/plain-data';
import type { WebRead } from 'pith/web';

type Conversation = Pick<TurnInfo, 'threadId' | 'correlationId'>;

/** A thread keeps so many sources; the first ones say enough. */
const MOST_SOURCES = 20;
const LONGEST_SOURCE = 200;
/** Turns that run at once, or were cut off. */
const MOST_TURNS = 1000;
const DAY_MS = 86_400_000;
const KEPT_DAYS = 400;
/** Channels in which nobody types: what starts a turn there may come from anywhere. */
const OUTSIDE_CHANNELS: ReadonlyMap<string, string> = new Map([['runs', 'a run of a saved skill, whose inputs may come from outside']]);

/** Which conversations have read text from outside, and from where. A conversation counts with the turns that it delegates. */
export class OutsideSources {
  /** The conversation and its depth, for events that name a turn only. */
  readonly #turns = new Map<string, Conversation & { readonly depth: number }>();
  #writing: Promise<void> = Promise.resolve();

  constructor(private readonly context: Pick<ExtensionContext, 'kv' | 'clock' | 'logger'>) {}

  began({ id, threadId, correlationId, depth }: TurnInfo): void {
    this.#turns.set(id, { threadId, correlationId, depth });
    for (const oldest of this.#turns.keys()) {
      if (this.#turns.size <= MOST_TURNS) return;
      this.#turns.delete(oldest);
    }
  }

  ended({ id }: TurnInfo): void {
    this.#turns.delete(id);
  }

  called({ extensionId, tool, ok, turnId }: TopicMap['tool.called']): Promise<void> {
    const turn = this.#turns.get(turnId);
    return !ok || extensionId !== 'mcp' || turn === undefined ? this.#writing : this.#add(turn, `the tool ${tool} of an MCP server`);
  }

  read({ threadId, correlationId, address }: WebRead): Promise<void> {
    const turn = [...this.#turns.values()].find((each) => each.threadId === threadId) ?? { threadId, correlationId, depth: 0 };
    return this.#add(turn, address);
  }

  /** Those of the thread, of the threads that it was called from, and of the same message. */
  async of(conversation: Conversation & Pick<TurnInfo, 'channelId'>): Promise<readonly string[]> {
    await this.#writing;
    const depth = [...this.#turns.values()].find(({ threadId }) => threadId === conversation.threadId)?.depth ?? 0;
    const found = await Promise.all(keysOf({ ...conversation, depth }).map((key) => this.#kept(key)));
    const channel = OUTSIDE_CHANNELS.get(conversation.channelId);
    return [...new Set([...(channel === undefined ? [] : [channel]), ...found.flat()])].slice(0, MOST_SOURCES);
  }

  /** Forgets conversations that nobody continues any more. */
  async prune(): Promise<void> {
    const { kv, clock } = this.context;
    for (const key of await kv.keys(PREFIX)) {
      const at = Number(((await kv.get(key)) as Kept | null)?.at ?? 0);
      if (clock.now() - at > KEPT_DAYS * DAY_MS) await kv.delete(key);
    }
  }

  /** Resolves when it is kept. Never rejects: a reader then sees the error in the log. */
  #add(turn: Conversation & { readonly depth: number }, source: string): Promise<void> {
    const work = async (): Promise<void> => {
      for (const key of keysOf(turn)) {
        const sources = await this.#kept(key);
        const line = printableLine(source, LONGEST_SOURCE);
        if (sources.includes(line) || sources.length >= MOST_SOURCES) continue;
        await this.context.kv.set(key, { sources: [...sources, line], at: this.context.clock.now() });
      }
    };
    this.#writing = this.#writing.then(work).catch((error: unknown) => {
      this.context.logger.warn('a source from outside is not recorded', { error: String(error) });
    });
    return this.#writing;
  }

  async #kept(key: string): Promise<readonly string[]> {
    const kept = (await this.context.kv.get(key)) as Kept | null;
    return Array.isArray(kept?.sources) ? kept.sources : [];
  }
}

interface Kept {
  readonly sources?: string[];
  readonly at?: number;
}

const PREFIX = 'outside:';

/** The message, the thread, and the threads above it: a delegated turn has a thread of its own below its caller's. */
function keysOf({ threadId, correlationId, depth }: Conversation & { readonly depth: number }): readonly string[] {
  const threads = [threadId];
  for (let above = threadId, left = depth; left > 0 && above.includes('/'); left -= 1) {
    above = above.slice(0, above.lastIndexOf('/'));
    threads.push(above);
  }
  return [`${PREFIX}message:${sha256(correlationId)}`, ...threads.map((thread) => `${PREFIX}thread:${sha256(thread)}`)];
}
