import { messageOf } from 'pith';

/** `pith: <what>: <why>; <cure>` of anything thrown. */
export function errorLine(error: unknown): string {
  const cure = error instanceof Error && 'cure' in error && typeof error.cure === 'string' ? `; ${error.cure}` : '';
  return `pith: ${messageOf(error)}${cure}`;
}
