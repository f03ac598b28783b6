/** What to do about a problem, as the server says it. */
export interface Cure {
  readonly text?: string;
  /** Of a terminal. */
  readonly command?: string;
  /** The request that does the same, or shows the same. */
  readonly request?: CureRequest<'GET'> | ChangeRequest;
}

interface CureRequest<Method extends string> {
  readonly method: Method;
  readonly path: string;
  readonly need: 'user' | 'approve' | 'admin';
}

export type ChangeRequest = CureRequest<'POST' | 'PUT' | 'PATCH' | 'DELETE'>;
