/** The lane of a skill that names none. */
export const DEFAULT_LANE = 'skill-default';
/** Its rules where the settings have lanes and leave this one out. */
export const DEFAULT_RULES = { slots: 4, preemptionMs: 30_000 };

/** How long a run may hold its slot after a more urgent one was promised it. */
export const GRACE_MS = 5_000;

/** A run that holds a slot. */
export interface Holding {
  readonly id: string;
  readonly attempt: number;
  readonly priority: number;
  readonly preemptible: boolean;
  readonly startedAt: number;
  /** Whoever has it renews this; when it is over, nobody has it. */
  readonly leaseUntil: number;
  /** When it was asked to end for a more urgent one; null: it was not. */
  readonly preemptedAt: number | null;
}

/** A run that waits for a slot. */
export interface Waiting {
  readonly id: string;
  readonly attempt: number;
  readonly userId: string;
  readonly priority: number;
  /** The run whose slot it was promised; null: none. */
  readonly takesOver: string | null;
  /** The lane's turn at which this user was served last; 0: never. */
  readonly servedAt: number;
}

/** One lane as a claim or an arrival finds it. */
export interface Lane {
  readonly slots: number;
  readonly holding: readonly Holding[];
  /** The next of each user, and those that were promised a slot. */
  readonly waiting: readonly Waiting[];
}

export type Claim =
  /** A run waits and there is a slot for it. */
  | { readonly kind: 'begin'; readonly run: Waiting }
  /** Whoever had it is gone: it goes on. */
  | { readonly kind: 'take over'; readonly run: Holding }
  /** It was asked to end and has not, or whoever had it is gone: it ends now. */
  | { readonly kind: 'end preempted'; readonly run: Holding };

/**
 * What is to be done next in a lane; null: nothing. Runs that lost their process go on first, in their own slots. A promised slot goes to
 * whom it was promised; every other to the user who was served least recently, then by priority, then by age of the run.
 */
export function nextClaim({ slots, holding, waiting }: Lane, now: number): Claim | null {
  for (const run of holding) {
    const isLost = run.leaseUntil <= now;
    if (run.preemptedAt !== null && (isLost || run.preemptedAt + GRACE_MS <= now)) return { kind: 'end preempted', run };
    if (isLost) return { kind: 'take over', run };
  }
  if (holding.length >= slots) return null;
  const holders = new Set(holding.map(({ id }) => id));
  const promised = waiting.filter(({ takesOver }) => takesOver !== null && !holders.has(takesOver)).toSorted(byId);
  const [first = null] =
    promised.length > 0 ? promised : heads(waiting).toSorted((a, b) => a.servedAt - b.servedAt || b.priority - a.priority || byId(a, b));
  return first === null ? null : { kind: 'begin', run: first };
}

/** The most urgent of each user. */
function heads(waiting: readonly Waiting[]): readonly Waiting[] {
  const first = new Map<string, Waiting>();
  for (const run of waiting) {
    const other = first.get(run.userId);
    if (other === undefined || run.priority > other.priority || (run.priority === other.priority && byId(run, other) < 0))
      first.set(run.userId, run);
  }
  return [...first.values()];
}

/** The run that gives its slot to one of this priority which has just arrived; null: it waits. */
export function victimOf(
  { slots, holding }: Lane,
  priority: number,
  { now, leastMs }: { readonly now: number; readonly leastMs: number },
): Holding | null {
  if (holding.length < slots) return null;
  const able = holding.filter(
    (run) => run.preemptible && run.preemptedAt === null && run.priority < priority && now - run.startedAt >= leastMs,
  );
  const [victim = null] = able.toSorted((a, b) => a.priority - b.priority || b.startedAt - a.startedAt || byId(a, b));
  return victim;
}

/** Ids are in the order of time. */
function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
