import type { Statement } from './writer.ts';

type Part = (statement: Statement) => number;

const parts = new WeakMap<object, Part>();

/** Marks `shown` as a part that the kernel itself does in a write of an extension; `run` answers the number of changed rows. */
export function transactionPart<T extends object>(shown: T, run: Part): T {
  parts.set(shown, run);
  return Object.freeze(shown);
}

/** What a value of `transactionPart` does; undefined for anything that an extension made itself. */
export function partOf(value: unknown): Part | undefined {
  return typeof value === 'object' && value !== null ? parts.get(value) : undefined;
}
