import type { Command, TurnEvent } from 'pith';
import type { ChatContext, Conversation } from './conversation.ts';
import { modelOf } from './opening.ts';
import { fields, list, query } from './commands.ts';
import type { Terminals } from './terminal.ts';
import { counted, displayWidth, printableLine } from '@pith/plain-text';

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
    this.#usage = new ThreadUsage();
    const refresh = () => this.refresh();
    this.#offs = (['turn.started', 'turn.ended'] as const).map((topic) => context.events.handle(topic, refresh)); // of tasks, too
  }

  observe(event: TurnEvent): void {
    this.#usage.observe(event);
    if (event.type === 'turn-start') {
      this.#model = event.model;
      this.#isRunning = true;
    }
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
    const filled = isOurs ? this.#usage.lastRequest : 0;
    return statusText(
      {
        model: this.#model,
        effort: conversation.choice.effort ?? null,
        agent: conversation.agentId,
        context: filled,
        percent: window === null ? null : Math.min(100, Math.round((filled / window) * 100)),
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
      const { used } = fields(await query(await commands(), ['threads', 'usage', threadId], this.#stop.signal));
      const isMeant = conversation.threadId === threadId && !this.#isRunning;
      if (isMeant && Array.isArray(used)) this.#usage.load(threadId, used as unknown as readonly ModelUse[]);
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

interface Status {
  readonly model: string;
  /** null: nobody has chosen one here. */
  readonly effort: string | null;
  readonly agent: string;
  /** Tokens of the last request and its answer; 0: not known. */
  readonly context: number;
  /** Their share of the model's window; null: not known. */
  readonly percent: number | null;
  /** Of all requests. */
  readonly tokens: number;
  /** null: there is no price for what was used. */
  readonly cost: number | null;
  readonly tasks: number;
  readonly questions: number;
}

/** With less room no status is shown. */
const NARROWEST = 40;

/** One line; what has no room is left out from the right. */
export function statusText(status: Status, columns: number): string {
  if (columns + 1 < NARROWEST) return '';
  const { model, effort, agent, context, percent, tokens, cost, tasks, questions } = status;
  const parts = [
    `${printableLine(model)}${effort === null || model === '' ? '' : ` (effort ${effort})`}`,
    printableLine(agent),
    ...(context === 0 ? [] : [`context ${short(context)}${percent === null ? '' : ` (${percent}%)`}`]),
    ...(tokens === 0 ? [] : [`used ${short(tokens)} tokens${cost === null ? '' : ` $${cost.toFixed(cost < 0.1 ? 3 : 2)}`}`]),
    ...(tasks === 0 ? [] : [counted(tasks, 'task')]),
    ...(questions === 0 ? [] : [counted(questions, 'question')]),
  ].filter((part) => part !== '');
  let line = '';
  for (const part of parts) {
    const longer = line === '' ? part : `${line} · ${part}`;
    if (displayWidth(longer) > columns) break;
    line = longer;
  }
  return line;
}

/** `950`, `12.3k`, `4.5M`. */
function short(count: number): string {
  if (count < 1000) return String(count);
  const [value, unit] = count < 1_000_000 ? [count / 1000, 'k'] : [count / 1_000_000, 'M'];
  return `${value < 100 ? value.toFixed(1).replace(/\.0$/u, '') : Math.round(value)}${unit}`;
}

/** Tokens that a model was used for. */
interface ModelUse {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Dollars; absent: not known. */
  readonly cost?: number;
}

/** What a conversation has used: what is stored of it, and the steps that came since that was read. */
export class ThreadUsage {
  #thread = '';
  #stored: readonly ModelUse[] = [];
  #since: ModelUse[] = [];
  /** The model of the turn that runs, or ran last. */
  model: string | null = null;
  /** Tokens of the last request and its answer. */
  lastRequest = 0;

  /** What is stored of a conversation now, with what agents used that it called. */
  load(thread: string, stored: readonly ModelUse[]): void {
    this.#begin(thread);
    this.#stored = stored;
    this.#since = [];
  }

  observe(event: TurnEvent): void {
    if (event.type === 'turn-start') {
      this.#begin(event.thread);
      this.model = event.model;
    }
    if (event.type !== 'step-end') return;
    this.#since.push(event.request);
    this.lastRequest = event.request.inputTokens + event.request.outputTokens;
  }

  get tokens(): number {
    return this.#uses.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
  }

  /** null where a part of what was used has no price: a sum without it would be a wrong one. */
  get cost(): number | null {
    let sum = 0;
    for (const { cost } of this.#uses) {
      if (cost === undefined) return null;
      sum += cost;
    }
    return sum;
  }

  /** Whether this is what was counted. */
  isOf(thread: string): boolean {
    return this.#thread === thread;
  }

  get #uses(): readonly ModelUse[] {
    return [...this.#stored, ...this.#since].filter(({ inputTokens, outputTokens }) => inputTokens + outputTokens > 0);
  }

  #begin(thread: string): void {
    if (this.#thread === thread) return;
    this.#thread = thread;
    this.#stored = [];
    this.#since = [];
    this.lastRequest = 0;
  }
}
