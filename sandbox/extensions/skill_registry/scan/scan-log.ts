import type { Snapshot } from '../skill.ts';

/** A line of the log names no more than a person reads. */
export function someOf(ids: readonly string[]): readonly string[] {
  return ids.length <= 50 ? ids : [...ids.slice(0, 50), `and ${ids.length - 50} more`];
}

export function offeredIn({ skills }: Snapshot): number {
  let count = 0;
  for (const { state } of skills.values()) if (state === 'offered') count++;
  return count;
}
