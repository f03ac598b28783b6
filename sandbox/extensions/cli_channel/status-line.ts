import type { TurnEvent } from 'pith';
import { displayWidth, printableLine } from '@pith/plain-text';

/** Money for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
}

/** By `provider/model`. */
export type Prices = Readonly<Record<string, Price>>;

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

/** What a conversation has used since it was opened here. */
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
  #counted = { input: 0, output: 0 };

  constructor(private readonly prices: Prices) {}

  observe(event: TurnEvent): void {
    if (event.type === 'turn-start') {
      if (event.thread !== this.#thread) this.#reset(event.thread);
      this.model = event.model;
      if (event.turn !== this.#turn) this.#counted = { input: 0, output: 0 }; // else it goes on after a question, with its use
      this.#turn = event.turn;
    }
    if (event.type !== 'step-end' && event.type !== 'turn-end') return;
    const { inputTokens, outputTokens } = event.usage;
    const input = Math.max(0, inputTokens - this.#counted.input);
    const output = Math.max(0, outputTokens - this.#counted.output);
    this.#counted = { input: inputTokens, output: outputTokens };
    if (input + output === 0) return;
    this.tokens += input + output;
    this.lastRequest = input + output;
    const price = this.model === null ? undefined : this.prices[this.model];
    // A sum without a part of what was used would be a wrong one.
    this.cost = price === undefined || this.cost === null ? null : this.cost + (input * price.input + output * price.output) / 1_000_000;
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
