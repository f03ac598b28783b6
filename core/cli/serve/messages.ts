import type { Suspect } from './crash-policy.ts';

/** What the kernel's process tells its supervisor. */
export type Message =
  /** Before any code of an extension runs. */
  | { readonly type: 'declared'; readonly dataDirectory: string; readonly suspects: readonly Suspect[] }
  | { readonly type: 'alive' }
  | { readonly type: 'restart'; readonly reason: string };

/** The exit code of a kernel that wants to be started again. */
export const RESTART_EXIT = 75;

export const ALIVE_MS = 1000;

/** Set in the environment of the kernel's process. */
export const SUPERVISED = 'PITH_SUPERVISED';

export function numberIn(env: Readonly<Record<string, string | undefined>>, name: string, otherwise: number): number {
  const value = Number(env[name]);
  return env[name] !== undefined && Number.isFinite(value) && value > 0 ? value : otherwise;
}
