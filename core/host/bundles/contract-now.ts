/**
 * The whole contract without waiting; null where modules can only be waited for. The build of the command replaces this file by a
 * `require`, which evaluates zod at the first use of it.
 */
export const contractNow: (() => Readonly<Record<string, unknown>>) | null = null as (() => Readonly<Record<string, unknown>>) | null;
