import { setTimeout as later } from 'node:timers/promises';

/** Calls `run` once after `ms`. Returns a function that cancels it. Does not keep the process alive. */
export function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms).unref();
  return () => clearTimeout(timer);
}

export function sleep(ms: number): Promise<void> {
  return later(ms);
}
