/** `stale` is `open`, and the skill has changed since. `malformed`: its file cannot be read as a proposal. */
export const STATES = ['open', 'stale', 'applying', 'approved', 'rejected', 'superseded', 'expired', 'malformed'] as const;
export type State = (typeof STATES)[number];

/**
 * `apply`: a person agreed, and the skill is about to be written. `finish`: it was. `release`: it was not. `supersede`: somebody made the
 * same change by hand. `expire`: nobody decided in time.
 */
export const MOVES = ['apply', 'finish', 'release', 'reject', 'reopen', 'supersede', 'expire'] as const;
export type Move = (typeof MOVES)[number];

const WAITING = { apply: 'applying', reject: 'rejected', supersede: 'superseded', expire: 'expired' } as const;

/** Every move that there is; absent: it is refused. */
export const TABLE: Readonly<Record<State, Readonly<Partial<Record<Move, State>>>>> = {
  open: WAITING,
  stale: WAITING,
  applying: { finish: 'approved', release: 'open' },
  approved: {},
  rejected: { reopen: 'open' },
  superseded: { reject: 'rejected', reopen: 'open' },
  expired: { reject: 'rejected', reopen: 'open' },
  malformed: { reject: 'rejected' },
};

/** null: refused. */
export function moved(state: State, move: Move): State | null {
  return TABLE[state][move] ?? null;
}

/** Whether it waits for a person. */
export function isWaiting(state: State): boolean {
  return state === 'open' || state === 'stale';
}
