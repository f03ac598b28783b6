import { PithError } from '../contract/index.ts';
import type { RunEnd } from './options.ts';

/** An answer that was never what the schema wants: all of them, oldest first, and what they took. */
export class OutputInvalid extends PithError {
  static {
    Object.defineProperty(this, 'name', { value: 'PithError' });
  }

  readonly thread: RunEnd['thread'];
  readonly usage: RunEnd['usage'];
  readonly cost: RunEnd['cost'];

  constructor(
    readonly answers: readonly string[],
    problems: readonly string[],
    { thread, usage, cost }: RunEnd,
  ) {
    super('output_invalid', `the model gave ${answers.length} answers that do not match the schema; the last: ${problems.join('; ')}`, {
      cure: 'loosen the schema, describe its fields, or take a larger model',
    });
    this.thread = thread;
    this.usage = usage;
    this.cost = cost;
  }
}
