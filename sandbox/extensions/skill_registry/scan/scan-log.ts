import type { Snapshot } from '../skill.ts';

/** A line of the log names no more than a person reads. */
export function someOf(ids: readonly string[]): readonly string[] {
  return ids.length <= 50 ? ids : [...ids.slice(0, 50), `and ${ids.length - 50} more`];
}

/** By the aliases: only snapshots with the same states share theirs. */
const counts = new WeakMap<Snapshot['aliases'], number>();

export function offeredIn({ skills, aliases }: Snapshot): number {
  let count = counts.get(aliases);
  if (count !== undefined) return count;
  count = 0;
  for (const { state } of skills.values()) if (state === 'offered') count++;
  counts.set(aliases, count);
  return count;
}
