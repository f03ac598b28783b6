import { canonicalJson, sha256 } from '@pith/plain-data';
import { type ExtensionContext, z } from 'pith';
import type { TurnInput } from './turn-input.ts';

const waitingTurn = z.object({
  /** Of the turn in its thread. */
  key: z.string(),
  /** Of the message that the turn answers. */
  message: z.string(),
});

export type WaitingTurn = Readonly<z.infer<typeof waitingTurn>>;

/** The turns that ended with a question, until their programs are told how they went on: whoever answers may go on with them meanwhile. */
export class WaitingTurns {
  constructor(private readonly kv: ExtensionContext['kv']) {}

  /** The one of a thread; null: there is none. */
  async find(threadId: string): Promise<WaitingTurn | null> {
    return waitingTurn.safeParse(await this.kv.get(PREFIX + threadId)).data ?? null;
  }

  async keep(threadId: string, turn: WaitingTurn): Promise<void> {
    await this.kv.set(PREFIX + threadId, turn);
  }

  async forget(threadId: string): Promise<void> {
    await this.kv.delete(PREFIX + threadId);
  }
}

const PREFIX = 'waiting/';

export function messageDigest(message: TurnInput['message']): string {
  return sha256(canonicalJson(message));
}
