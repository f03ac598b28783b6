import { messageOf } from '../contract/errors.ts';

/** Thrown by the kernel alone: the handler is not there or was replaced, or nobody can be reached. The delivery waits and has not failed. */
export class Postponed extends Error {
  /** `forHowever`: it may wait as long as it takes. */
  constructor(
    cause: unknown,
    readonly forHowever = false,
  ) {
    super(messageOf(cause), { cause });
    this.name = 'Postponed';
  }
}

/** How often a delivery may be postponed; from then on each try counts. */
const MOST_TIMES = 60;

/** Tells failures from what was only postponed, as long as that does not happen for ever. */
export class Patience {
  readonly #times = new Map<number, number>();

  /** Whether this is a failure of the delivery. */
  isOver(event: number, error: unknown): boolean {
    if (!(error instanceof Postponed)) return true;
    if (error.forHowever) return false;
    const times = (this.#times.get(event) ?? 0) + 1;
    this.#times.set(event, times);
    return times > MOST_TIMES;
  }

  forget(event: number): void {
    this.#times.delete(event);
  }
}
