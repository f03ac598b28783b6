/** A changed extension that may be why the kernel crashes. */
export interface Suspect {
  readonly id: string;
  /** The digest of its current sources. */
  readonly digest: string;
  /** When one of its files was last written. */
  readonly changedAt: number;
  /** It runs inside the kernel, so it can crash the kernel. */
  readonly inProcess: boolean;
}

export interface Crashes {
  /** When the kernel crashed since extensions were last left out, oldest first. */
  readonly at: readonly number[];
  /** How often extensions have been left out already. */
  readonly rounds: number;
}

export const NO_CRASHES: Crashes = { at: [], rounds: 0 };
export const MOST_CRASHES = 5;
/** The longest wait before the next start. */
export const LONGEST_WAIT_MS = 5000;
export const CRASH_WINDOW_MS = 5 * 60_000;

export type Decision =
  | { readonly act: 'start'; readonly afterMs: number }
  /** Start without these: first the newest changed one, then all that changed. */
  | { readonly act: 'quarantine'; readonly suspects: readonly Suspect[] }
  | { readonly act: 'give up' };

/** A supervisor's action after a crash at `now`. `suspects`: what changed since the last good start and is not left out yet. */
export function afterCrash(crashes: Crashes, suspects: readonly Suspect[], now: number): { crashes: Crashes; decision: Decision } {
  const at = [...crashes.at.filter((earlier) => now - earlier < CRASH_WINDOW_MS), now];
  const { rounds } = crashes;
  if (at.length < MOST_CRASHES)
    return { crashes: { at, rounds }, decision: { act: 'start', afterMs: Math.min(LONGEST_WAIT_MS, 100 * 2 ** at.length) } };
  const [newest, ...others] = byLikelihood(suspects);
  if (newest === undefined) return { crashes: { at, rounds }, decision: { act: 'give up' } };
  const chosen = rounds === 0 ? [newest] : [newest, ...others];
  return { crashes: { at: [], rounds: rounds + 1 }, decision: { act: 'quarantine', suspects: chosen } };
}

/** Those that can crash the kernel first, then the newest. */
function byLikelihood(suspects: readonly Suspect[]): readonly Suspect[] {
  return [...suspects].sort((a, b) => Number(b.inProcess) - Number(a.inProcess) || b.changedAt - a.changedAt || (a.id < b.id ? -1 : 1));
}
