import { codeOf, messageOf, PithError } from '../../contract/errors.ts';
import { modelFailure } from '../../models/failure.ts';

export interface PlainFailure {
  readonly code: string;
  readonly message: string;
}

/** What `turn-end` says of an error: its code, and what, where, why and the cure in one line. */
export function plainFailure(error: unknown, fallback = 'internal'): PlainFailure {
  const message = messageOf(error);
  const place = error instanceof PithError && error.where !== undefined && !message.includes(error.where) ? ` (${error.where})` : '';
  const cure = error instanceof PithError && error.cure !== undefined ? `; ${error.cure}` : '';
  return { code: codeOf(error, fallback), message: `${message}${place}${cure}` };
}

/** `answering`: a part of the answer had come already. */
export function plainModelFailure(error: unknown, reference: string, answering = false): PlainFailure {
  return plainFailure(modelFailure(error, reference, answering), 'model_failed');
}
