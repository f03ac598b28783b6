import { type ExtensionContext, Permissions, type TopicMap, type TurnInfo } from 'pith';
import { printableLine } from '@pith/plain-text';
import { keepNewest, sha256 } from '@pith/plain-data';
import type { WebRead } from 'pith/web';

/** A thread keeps so many sources; the first ones say enough. */
const MOST_SOURCES = 20;
const LONGEST_SOURCE = 200;
/** The newest turns, of which events name only the id or the thread. */
const MOST_TURNS = 2000;
const DAY_MS = 86_400_000;
const KEPT_DAYS = 400;
/** Channels in which nobody types: what starts a turn there may come from anywhere. */
const OUTSIDE_CHANNELS: ReadonlyMap<string, string> = new Map([['runs', 'a run of a saved skill, whose inputs may come from outside']]);

/** A turn and what it belongs to. */
type Conversation = Pick<TurnInfo, 'threadId' | 'correlationId'> & Partial<Pick<TurnInfo, 'channelId' | 'userId'>>;

/** Which conversations have read text from outside, and from where. A conversation counts with the turns and tasks that it caused. */
export class OutsideSources {
  readonly #turns = new Map<string, Conversation>();
  #writing: Promise<void> = Promise.resolve();

  constructor(private readonly context: Pick<ExtensionContext, 'kv' | 'clock' | 'logger' | 'use'>) {}

  began({ id, threadId, correlationId, channelId, userId }: TurnInfo): void {
    keepNewest(this.#turns, id, { threadId, correlationId, channelId, userId }, MOST_TURNS);
  }

  /** A call that failed counts too: its error is the server's text. */
  called({ extensionId, tool, turnId }: TopicMap['tool.called']): void {
    const turn = this.#turns.get(turnId);
    if (extensionId === 'mcp' && turn !== undefined) this.#add(turn, `the tool ${tool} of an MCP server`);
  }

  read({ address, ...conversation }: WebRead): void {
    this.#add(conversation, address);
  }

  /** Those of the thread, of the threads that called it, and of the message that is being answered. */
  async of(threadId: string): Promise<readonly string[]> {
    await this.#writing;
    const turn: Conversation = [...this.#turns.values()].findLast((each) => each.threadId === threadId) ?? { threadId, correlationId: '' };
    const found = await Promise.all(this.#keysOf(turn).map((key) => this.#kept(key)));
    const channel = OUTSIDE_CHANNELS.get(turn.channelId ?? '');
    const { userId } = turn;
    const isOther = userId !== undefined && !(await this.context.use(Permissions).isAdmin(userId));
    const began = [...(channel === undefined ? [] : [channel]), ...(isOther ? [`the user ${printableLine(userId, 64)}`] : [])];
    return [...new Set([...began, ...found.flat()])].slice(0, MOST_SOURCES);
  }

  /** Forgets conversations that nobody continues any more. */
  async prune(): Promise<void> {
    const { kv, clock } = this.context;
    for (const key of await kv.keys(PREFIX)) {
      const at = Number(((await kv.get(key)) as Kept | null)?.at ?? 0);
      if (clock.now() - at > KEPT_DAYS * DAY_MS) await kv.delete(key);
    }
  }

  /** Of the message, and of the threads that belong to it: a delegated turn has a thread below its caller's, a task one of its own. */
  #keysOf({ threadId, correlationId }: Conversation): readonly string[] {
    const isRelated = (other: Conversation) => other.correlationId === correlationId || threadId.startsWith(`${other.threadId}/`);
    const threads = [...this.#turns.values()].filter(isRelated).map((other) => other.threadId);
    const message = correlationId === '' ? [] : [`${PREFIX}message:${sha256(correlationId)}`];
    return [...message, ...[...new Set([threadId, ...threads])].map((thread) => `${PREFIX}thread:${sha256(thread)}`)];
  }

  #add(turn: Conversation, source: string): void {
    const work = async (): Promise<void> => {
      for (const key of this.#keysOf(turn)) {
        const sources = await this.#kept(key);
        const line = printableLine(source, LONGEST_SOURCE);
        if (sources.includes(line) || sources.length >= MOST_SOURCES) continue;
        await this.context.kv.set(key, { sources: [...sources, line], at: this.context.clock.now() });
      }
    };
    this.#writing = this.#writing.then(work).catch((error: unknown) => {
      this.context.logger.warn('a source from outside is not recorded', { error: String(error) });
    });
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
