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

/** Tokens that a model was used for. */
export interface ModelUse {
  /** null: not known. */
  readonly model: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
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

  constructor(private readonly prices: Prices) {}

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
    this.#since.push({ model: this.model, ...event.request });
    this.lastRequest = event.request.inputTokens + event.request.outputTokens;
  }

  get tokens(): number {
    return this.#uses.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
  }

  /** null where a part of what was used has no price: a sum without it would be a wrong one. */
  get cost(): number | null {
    let sum = 0;
    for (const { model, inputTokens, outputTokens } of this.#uses) {
      const price = model === null ? undefined : this.prices.get(model);
      if (price === undefined) return null;
      sum += (inputTokens * price.input + outputTokens * price.output) / 1_000_000;
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
