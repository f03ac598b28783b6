import type { Cure } from '../server/cure.ts';

/** An extension as `GET /api/extensions` has it. */
export interface Extension {
  readonly id: string;
  readonly state: 'active' | 'idle' | 'failed' | 'blocked' | 'disabled' | (string & {});
  readonly shipped: boolean;
  readonly tier: string | null;
  readonly version: string;
  readonly description: string;
  readonly message?: string;
  readonly cure?: Cure;
  readonly provides: readonly string[];
  readonly depends_on: readonly string[];
  readonly optional_depends_on: readonly string[];
  /** Its own protocols, which others may provide. */
  readonly defines: readonly string[];
}

/** The class of the stylesheet that colours a state. */
export function toneOf(state: string): 'good' | 'warn' | 'bad' | 'muted' {
  if (state === 'active') return 'good';
  if (state === 'failed') return 'bad';
  return state === 'blocked' ? 'warn' : 'muted';
}
