/**
 * Where a program keeps conversations itself: a log for each, with entries that are only added. An entry is one line of JSON: any
 * Unicode, no NUL. Ids of threads are any text. What rejects ends the run that needs it.
 */
export interface ThreadLog {
  /** At most `limit` entries behind the first `from`, in the order in which they were added; none where there is no such thread. */
  read(thread: string, from: number, limit: number): Promise<readonly string[]>;
  /**
   * Adds entries behind the first `length`, all or none, and resolves true when they would survive the end of the process. Resolves false,
   * and adds nothing, where the thread has another number of entries: somebody else has written it.
   */
  append(thread: string, length: number, entries: readonly string[]): Promise<boolean>;
  /** Ids of at most `limit` threads that have entries, the one that was added to last first. */
  list(limit: number): Promise<readonly string[]>;
  /** Deletes all entries of a thread, of which there may be none. */
  remove(thread: string): Promise<void>;
}
