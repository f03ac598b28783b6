import { type Remote, TurnProvider, type TurnEndReason, type TurnInfo } from '../../contract/index.ts';
import type { Providers } from '../../kernel/index.ts';

/** Tells extensions that provide `turn` where one turn begins and ends: those of which it asks anything. */
export class TurnHooks {
  readonly #providers: Pick<Providers, 'remote' | 'running'>;
  readonly #begun = new Map<string, { readonly turn: TurnInfo; readonly told: Promise<void> }>();

  constructor(providers: Pick<Providers, 'remote' | 'running'>) {
    this.#providers = providers;
  }

  /** Awaited before anything else is asked of the extension in this turn. Never rejects: a hook that fails is recorded and costs nothing else. */
  begin(extensionId: string, turn: TurnInfo): Promise<void> {
    const known = this.#begun.get(extensionId);
    if (known) return known.told;
    const told = quietly(this.#providers.remote(extensionId, TurnProvider)?.beginTurn?.(turn));
    this.#begun.set(extensionId, { turn, told });
    return told;
  }

  /** Tells whoever was told of the beginning and still runs, side by side. `last`: the turn as it was known last. */
  async end(last: TurnInfo | null, reason: TurnEndReason): Promise<void> {
    const begun = [...this.#begun];
    this.#begun.clear();
    await Promise.all(
      begun.map(([extensionId, { turn, told }]) => told.then(() => quietly(this.#running(extensionId)?.endTurn?.(last ?? turn, reason)))),
    );
  }

  #running(id: string): Remote<TurnProvider> | undefined {
    return this.#providers.running(TurnProvider).find(({ extensionId }) => extensionId === id);
  }
}

/** What fails is recorded where it failed, and the turn goes on without. */
async function quietly(hook: void | Promise<void>): Promise<void> {
  await Promise.resolve(hook).catch(() => undefined);
}
