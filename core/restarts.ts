import type { Off } from './contract/index.ts';

/** Restarts of the kernel's process: asked for by whoever needs one, given by what runs it. */
export interface Restarts {
  /** False where nothing could start the kernel again. */
  ask(reason: string): boolean;
  handle(give: (reason: string) => void): Off;
}

export function createRestarts(): Restarts {
  const givers = new Set<(reason: string) => void>();
  return {
    ask(reason) {
      for (const give of givers) give(reason);
      return givers.size > 0;
    },
    handle(give) {
      givers.add(give);
      return () => void givers.delete(give);
    },
  };
}
