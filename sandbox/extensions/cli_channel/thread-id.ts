import { ulid } from 'ulid';

/** Short, readable and in the order of time: `kbz3h2m9-4fxq`. */
export function newThreadId(now: number): string {
  const id = ulid(now).toLowerCase();
  return `${id.slice(2, 10)}-${id.slice(10, 14)}`; // the first two characters change once in centuries
}
