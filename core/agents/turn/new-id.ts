import { ulid } from 'ulid';
import type { Clock } from '../../contract/index.ts';

/** Sorts by the time at which it was made. */
export function newId(clock: Clock): string {
  return ulid(clock.now());
}
