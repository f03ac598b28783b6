/** A finding about one file or part. Data, never thrown. Lines and columns count from 1. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning' | 'info';
  readonly code: string;
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** What to do, as an imperative. */
  readonly cure?: string;
}

/** What went wrong with one extension or agent, and in which phase of its life. */
export interface Failure {
  readonly extensionId: string;
  readonly phase: string;
  readonly code: string;
  readonly message: string;
  readonly cause?: string;
  readonly at: number;
  readonly file?: string;
  readonly line?: number;
  readonly cure?: string;
}

/** What can be written as JSON and read back the same. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined };
