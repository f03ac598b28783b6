import type { TurnEvent } from 'pith';
import { displayWidth, printableLine } from '@pith/plain-text';

/** Money for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
}

/** By `provider/model`. */
export type Prices = ReadonlyMap<string, Price>;

export interface Status {
  readonly model: string;
  readonly agent: string;
  /** Share of the model's window that the last request filled, in per cent; null: not known. */
  readonly context: number | null;
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
  const { model, agent, context, tokens, cost, tasks, questions } = status;
  const parts = [
    printableLine(model),
    printableLine(agent),
    ...(context === null ? [] : [`context ${context}%`]),
    ...(tokens === 0 ? [] : [`${short(tokens)} tokens${cost === null ? '' : ` $${cost.toFixed(cost < 0.1 ? 3 : 2)}`}`]),
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

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** `950`, `12.3k`, `4.5M`. */
function short(count: number): string {
  if (count < 1000) return String(count);
  const [value, unit] = count < 1_000_000 ? [count / 1000, 'k'] : [count / 1_000_000, 'M'];
  return `${value < 100 ? value.toFixed(1).replace(/\.0$/u, '') : Math.round(value)}${unit}`;
}

/** Of a model, or of a turn. */
interface Use {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What a conversation had used before it was opened here. */
export interface PastUse {
  readonly models: readonly (Use & { readonly model: string | null })[];
  /** Part of it: of the newest turn, which may go on. */
  readonly last: (Use & { readonly turnId: string }) | null;
}

/** What a conversation has used. */
export class ThreadUsage {
  #thread = '';
  /** The model of the turn that runs, or ran last. */
  model: string | null = null;
  tokens = 0;
  cost: number | null = 0;
  /** Tokens of the last request and its answer. */
  lastRequest = 0;
  #turn = '';
  /** Of the turn that runs, up to its last step. */
  #counted: Use = { inputTokens: 0, outputTokens: 0 };

  constructor(private readonly prices: Prices) {}

  /** Goes on with a conversation. */
  open(thread: string, { models, last }: PastUse): void {
    this.#reset(thread);
    for (const { model, ...use } of models) this.#add(model, use);
    if (last === null) return;
    this.#turn = last.turnId;
    this.#counted = last;
  }

  observe(event: TurnEvent): void {
    if (event.type === 'turn-start') {
      if (event.thread !== this.#thread) this.#reset(event.thread);
      this.model = event.model;
      if (event.turn !== this.#turn) this.#counted = { inputTokens: 0, outputTokens: 0 }; // else it goes on after a question, with its use
      this.#turn = event.turn;
    }
    if (event.type !== 'step-end' && event.type !== 'turn-end') return;
    const inputTokens = Math.max(0, event.usage.inputTokens - this.#counted.inputTokens);
    const outputTokens = Math.max(0, event.usage.outputTokens - this.#counted.outputTokens);
    this.#counted = event.usage;
    if (inputTokens + outputTokens === 0) return;
    this.#add(this.model, { inputTokens, outputTokens });
    this.lastRequest = inputTokens + outputTokens;
  }

  #add(model: string | null, { inputTokens, outputTokens }: Use): void {
    this.tokens += inputTokens + outputTokens;
    const price = model === null ? undefined : this.prices.get(model);
    const cost = price === undefined ? null : (inputTokens * price.input + outputTokens * price.output) / 1_000_000;
    // A sum without a part of what was used would be a wrong one.
    if (inputTokens + outputTokens > 0) this.cost = cost === null || this.cost === null ? null : this.cost + cost;
  }

  #reset(thread: string): void {
    this.#thread = thread;
    this.tokens = 0;
    this.cost = 0;
    this.lastRequest = 0;
  }

  /** Whether this is what was counted. */
  isOf(thread: string): boolean {
    return this.#thread === thread;
  }
}
