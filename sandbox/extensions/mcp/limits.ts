/** The largest message that a server may send. */
export const MOST_BYTES = 4 * 1024 * 1024;
