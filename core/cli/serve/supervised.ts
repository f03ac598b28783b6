/** Set in the environment of the kernel's process. */
export const SUPERVISED = 'PITH_SUPERVISED';

/** Whether this process is the kernel of a supervisor, which runs the same command line. */
export function isSupervised(env: Readonly<Record<string, string | undefined>>): boolean {
  return env[SUPERVISED] !== undefined && process.send !== undefined;
}
