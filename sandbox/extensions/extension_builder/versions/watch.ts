import type { ExtensionContext, TopicMap } from 'pith';

/** How long a version is watched after it has become active. */
export const WATCH_MS = 60_000;

/** Gathers what goes wrong with one extension. A version that is on its way out may fail to stop: that is not this one's. */
export class FailureWatch {
  #first: TopicMap['extension.failed'] | null = null;
  #report: ((failure: TopicMap['extension.failed']) => void) | null = null;
  readonly #off: () => void;

  constructor({ events }: Pick<ExtensionContext, 'events'>, id: string) {
    this.#off = events.handle('extension.failed', (failure) => {
      if (failure.extensionId !== id || failure.phase === 'stop' || this.#first !== null) return;
      this.#first = failure;
      this.#report?.(failure);
    });
  }

  get first(): TopicMap['extension.failed'] | null {
    return this.#first;
  }

  /** Calls `report` with the first failure, also when it was before. */
  onFailure(report: (failure: TopicMap['extension.failed']) => void): void {
    this.#report = report;
    if (this.#first !== null) report(this.#first);
  }

  end(): void {
    this.#report = null;
    this.#off();
  }
}
