import type { Command, TurnEvent } from 'pith';
import type { ChatContext, Conversation } from './conversation.ts';
import { modelOf } from './first-screen.ts';
import { fields, list, query } from './query.ts';
import { statusText, ThreadUsage, type ModelUse, type Price } from './status-line.ts';
import type { Terminals } from './terminals.ts';

export interface StatusOptions {
  readonly conversation: Conversation;
  readonly terminals: Terminals;
  readonly commands: () => Promise<readonly Command[]>;
  /** Something in the line is different now. */
  readonly changed: () => void;
}

/** What is shown below the prompt. */
export class ChatStatus {
  readonly #usage: ThreadUsage;
  readonly #offs: readonly (() => void)[];
  readonly #stop = new AbortController();
  #counts = { tasks: 0, questions: 0 };
  #model: string;
  /** What commands say answers here. A turn says it more exactly. */
  #chosen: string;
  #counting = false;
  /** A turn of this conversation runs: what is stored does not have all of it. */
  #isRunning = false;
  #isStale = false;

  constructor(
    context: ChatContext,
    private readonly options: StatusOptions,
    /** The model before the first turn has named it. */
    model: string,
  ) {
    this.#model = model;
    this.#chosen = model;
    this.#usage = new ThreadUsage(new Map(Object.entries((context.config['prices'] ?? {}) as Record<string, Price>)));
    const refresh = () => this.refresh();
    const { events } = context;
    this.#offs = [
      events.handle('turn.started', refresh), // of a task, too
      events.handle('turn.ended', refresh),
    ];
  }

  observe(event: TurnEvent): void {
    this.#usage.observe(event);
    if (event.type === 'turn-start') this.#model = event.model;
    if (event.type === 'turn-start') this.#isRunning = true;
    if (event.type === 'turn-end') {
      this.#isRunning = false;
      this.refresh();
    }
    if (event.type === 'turn-start' || event.type === 'step-end') this.options.changed();
  }

  /** Counts tasks and questions again, soon. */
  refresh(): void {
    this.#isStale = true;
    if (!this.#counting) void this.#count();
  }

  line(columns: number): string {
    const { conversation, terminals } = this.options;
    const isOurs = this.#usage.isOf(conversation.threadId);
    const window = this.#usage.model === null ? null : terminals.windowOf(this.#usage.model);
    const filled = isOurs && window !== null && this.#usage.lastRequest > 0;
    return statusText(
      {
        model: this.#model,
        agent: conversation.agentId,
        context: filled ? Math.min(100, Math.round((this.#usage.lastRequest / window) * 100)) : null,
        tokens: isOurs ? this.#usage.tokens : 0,
        cost: isOurs ? this.#usage.cost : null,
        ...this.#counts,
      },
      columns,
    );
  }

  close(): void {
    this.#stop.abort();
    for (const off of this.#offs) off();
  }

  async #count(): Promise<void> {
    this.#counting = true;
    while (this.#isStale && !this.#stop.signal.aborted) {
      this.#isStale = false;
      await this.#loadUsage();
      await this.#askModel();
      const [tasks, questions] = [await this.#number(['tasks', 'list', '--state', 'running']), await this.#number(['approvals'])];
      this.#counts = { tasks, questions };
      if (!this.#stop.signal.aborted) this.options.changed();
    }
    this.#counting = false;
  }

  async #loadUsage(): Promise<void> {
    const { conversation, commands } = this.options;
    const { threadId, begun } = conversation;
    if (!begun || this.#isRunning) return; // the end of the turn asks for it
    try {
      const thread = fields(await query(await commands(), ['threads', 'show', threadId, '--last', '1'], this.#stop.signal));
      const isMeant = conversation.threadId === threadId && !this.#isRunning;
      if (isMeant && Array.isArray(thread['usage'])) this.#usage.load(threadId, thread['usage'] as unknown as readonly ModelUse[]);
    } catch {
      // a thread that is about to begin: its first turn reports its use
    }
  }

  /** A command may have chosen another. */
  async #askModel(): Promise<void> {
    const { conversation, commands } = this.options;
    const found = await modelOf(conversation, await commands(), this.#stop.signal);
    if (found.unknown === null && found.text !== this.#chosen) this.#model = this.#chosen = found.text;
  }

  async #number(words: readonly string[]): Promise<number> {
    try {
      return list(await query(await this.options.commands(), words, this.#stop.signal)).length;
    } catch {
      return 0; // whoever wants to know why gives the command
    }
  }
}
