import type { TurnEndReason, TurnInfo } from '../../contract/index.ts';
import type { ExtensionsPort } from '../../kernel/index.ts';

/** Tells extensions that provide `turn` where one turn begins and ends: those of which it asks anything. */
export class TurnHooks {
  readonly #extensions: Pick<ExtensionsPort, 'beginTurn' | 'endTurn'>;
  readonly #begun = new Map<string, { readonly turn: TurnInfo; readonly told: Promise<void> }>();

  constructor(extensions: Pick<ExtensionsPort, 'beginTurn' | 'endTurn'>) {
    this.#extensions = extensions;
  }

  /** Awaited before anything else is asked of the extension in this turn. Never rejects: a hook that fails is recorded and costs nothing else. */
  begin(extensionId: string, turn: TurnInfo): Promise<void> {
    const known = this.#begun.get(extensionId);
    if (known) return known.told;
    const told = this.#extensions.beginTurn(extensionId, turn);
    this.#begun.set(extensionId, { turn, told });
    return told;
  }

  /** Tells whoever was told of the beginning, side by side. `last`: the turn as it was known last. */
  async end(last: TurnInfo | null, reason: TurnEndReason): Promise<void> {
    const begun = [...this.#begun];
    this.#begun.clear();
    await Promise.all(
      begun.map(([extensionId, { turn, told }]) => told.then(() => this.#extensions.endTurn(extensionId, last ?? turn, reason))),
    );
  }
}
