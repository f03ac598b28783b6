import type { Conversations, Remote } from 'pith';
import type { LiveTurns } from './live-turns.ts';
import type { Conversation } from './owned-threads.ts';

/** Conversations that somebody was told another process works in. That a process was killed, nobody writes down: it is looked for. */
export class RunningElsewhere {
  readonly #reported = new Set<string>();

  constructor(
    private readonly conversations: Remote<Conversations>,
    private readonly turns: Pick<LiveTurns, 'of'>,
  ) {}

  report(conversations: readonly Pick<Conversation, 'id' | 'state'>[]): void {
    for (const { id, state } of conversations) if (state === 'running' && this.turns.of(id).length === 0) this.#reported.add(id);
  }

  /** Those whose process has gone since, each once. */
  async cutOff(): Promise<readonly Conversation[]> {
    const found = await Promise.all([...this.#reported].map((id) => this.#lookAt(id)));
    return found.flatMap((each) => each ?? []);
  }

  async #lookAt(id: string): Promise<Conversation | null> {
    const found = this.turns.of(id).length > 0 ? null : await this.conversations.find(id);
    if (found?.state === 'running') return null;
    return this.#reported.delete(id) && found?.state === 'cut_off' ? found : null;
  }
}
