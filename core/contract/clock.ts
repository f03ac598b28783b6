/** The only source of time. Times are milliseconds since the Unix epoch, in UTC. */
export interface Clock {
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`. Returns its cancel. Does not keep the process alive. */
  after(ms: number, run: () => void): () => void;
}
