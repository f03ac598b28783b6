import { within } from '@pith/promises';
import type { Clock } from 'pith';

/** The values as they come, and `idle` after each `ms` in which none does. */
export async function* withIdle<T>(
  values: AsyncIterable<T>,
  clock: Pick<Clock, 'after'>,
  ms: number,
): AsyncGenerator<T | 'idle', void, undefined> {
  const source = values[Symbol.asyncIterator]();
  let next = source.next();
  try {
    for (;;) {
      const step = await within(clock, ms, next, () => 'idle' as const);
      if (step === 'idle') yield step;
      else if (step.done) return;
      else {
        yield step.value;
        next = source.next();
      }
    }
  } finally {
    void next.catch(() => undefined); // whoever left does not hear of it
    await source.return?.();
  }
}
