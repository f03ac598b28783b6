import { PithError, type TurnInfo, type TurnRequest } from '../contract/index.ts';

/**
 * The turns whose calls a process works on now, and which turns it may run itself: of threads of its own (`<extension id>:…`), and below a
 * turn that it serves. The conversations of people are out of its reach, and so is what they allowed in them.
 */
export class OwnTurns {
  readonly #served = new Map<string, { readonly turn: TurnInfo; calls: number }>();

  constructor(private readonly extensionId: string) {}

  /** `turn` is the kernel's own value: what is in the input of a call says nothing of whom it serves. */
  async during<T>(turn: TurnInfo, run: () => Promise<T>): Promise<T> {
    const served = this.#served.get(turn.id) ?? { turn, calls: 0 };
    this.#served.set(turn.id, served);
    served.calls += 1;
    try {
      return await run();
    } finally {
      served.calls -= 1;
      if (served.calls === 0) this.#served.delete(turn.id);
    }
  }

  /** The request with the kernel's own knowledge of its parent. Throws `not_allowed`. */
  checked(request: TurnRequest): TurnRequest {
    const { threadId, parent: named } = request;
    const parent = named === undefined ? undefined : this.#served.get(named.id)?.turn;
    if (named !== undefined && parent === undefined)
      throw refused(
        `'${this.extensionId}' serves no call of the turn that it names as parent`,
        'pass the `turn` of a call that has not ended',
      );
    const beginning = parent === undefined ? `${this.extensionId}:` : `${parent.threadId}/`;
    if (typeof threadId !== 'string' || !threadId.startsWith(beginning))
      throw refused(`the thread '${String(threadId)}' is not one of '${this.extensionId}'`, `use a thread that begins with '${beginning}'`);
    return parent === undefined ? request : { ...request, parent };
  }
}

function refused(why: string, cure: string): PithError {
  return new PithError('not_allowed', why, { cure });
}
