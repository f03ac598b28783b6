import { parseArgs } from 'node:util';
import { PithError } from '../../contract/index.ts';

/** Set in the environment of the kernel's process. */
export const SUPERVISED = 'PITH_SUPERVISED';

/** Whether this process is the kernel of a supervisor, which runs the same command line. */
export function isSupervised(env: Readonly<Record<string, string | undefined>>): boolean {
  return env[SUPERVISED] !== undefined && process.send !== undefined;
}

/** Of `--port`; null: as the settings say. Throws `usage`. */
export function portIn({ port }: Readonly<Record<string, unknown>>): number | null {
  if (port === undefined) return null;
  const wanted = typeof port === 'string' && /^\d+$/u.test(port) ? Number(port) : port;
  if (typeof wanted === 'number' && Number.isInteger(wanted) && wanted >= 0 && wanted <= 65_535) return wanted;
  throw new PithError('usage', `wrong use of --port: '${String(port)}' is not a port`, {
    cure: 'use a number from 0 (any free one) to 65535',
  });
}

/** Of a line whose command is not known yet. */
export function portOfLine(words: readonly string[]): number | null {
  return portIn(parseArgs({ args: [...words], options: { port: { type: 'string' } }, strict: false }).values);
}
