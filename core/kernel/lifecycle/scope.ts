import { within } from '@pith/promises';
import { type Clock, messageOf, PithError } from '../../contract/index.ts';

type Release = () => void | Promise<void>;

/** Owns what was acquired: released newest first, once, whatever fails on the way. */
export interface Scope {
  readonly closed: boolean;
  /** Runs `release` at once when the scope has been closed already. */
  own(release: Release): void;
  /** Each release gets `limitMs`. Returns what went wrong; never rejects. */
  close(): Promise<readonly Error[]>;
}

export function createScope(clock: Clock, limitMs = 5000): Scope {
  const releases: Release[] = [];
  let closing: Promise<readonly Error[]> | undefined;

  const scope: Scope = {
    get closed() {
      return closing !== undefined;
    },
    own(release) {
      if (closing) closing = closing.then(async (errors) => [...errors, ...(await runRelease(release, clock, limitMs))]);
      else releases.push(release);
    },
    close() {
      closing ??= closeAll();
      return closing;
    },
  };

  async function closeAll(): Promise<readonly Error[]> {
    const errors: Error[] = [];
    for (let release = releases.pop(); release; release = releases.pop()) errors.push(...(await runRelease(release, clock, limitMs)));
    return errors;
  }

  return scope;
}

async function runRelease(release: Release, clock: Clock, limitMs: number): Promise<readonly Error[]> {
  try {
    const done = release();
    if (done !== undefined)
      await within(clock, limitMs, done, () => {
        throw new PithError('phase_timeout', `a release took longer than ${limitMs} ms`);
      });
    return [];
  } catch (error) {
    return [error instanceof Error ? error : new Error(messageOf(error))];
  }
}
