/** What to do about a problem, as the server says it. */
export interface Cure {
  readonly text?: string;
  /** Of a terminal. */
  readonly command?: string;
  /** The request that does the same. */
  readonly request?: { readonly method: string; readonly path: string; readonly need: 'user' | 'approve' | 'admin' };
}
