import { codeOf, messageOf, PithError } from '../../contract/errors.ts';
import type { Command } from '../../contract/index.ts';
import { placeOfError, Problem } from '../problem.ts';
import type { HostParts } from '../host-parts.ts';
import { requireTrust } from '../../trust/index.ts';
import { runAs } from '../stray-errors.ts';

/** A command whose run is the extension's: its errors name it, and tell no secrets. */
export function owned(parts: Pick<HostParts, 'options' | 'owner' | 'secrets' | 'wire'>, id: string, command: Command): Command {
  const owner = parts.owner(id, 'call');
  return {
    ...parts.secrets.redactJson(command),
    run: (input, io, signal) =>
      cleanly(parts, () =>
        named(
          id,
          `the command '${command.path}'`,
          async () => {
            requireTrust(command, parts.options.trust);
            return runAs(owner, () => command.run(parts.wire.pass(input, `the input of ${command.path}`), io, signal));
          },
          signal,
        ),
      ),
  };
}

/** What nobody meant to be read names nothing: this gives it the extension's name and the line. */
export async function named<T>(id: string, what: string, run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (signal?.aborted || error instanceof PithError || error instanceof Problem) throw error;
    const { file, line } = placeOfError(error);
    const place = file === undefined ? '' : ` in ${file}${line === undefined ? '' : `:${line}`}`;
    throw new PithError('provider_failed', `${what} of the extension '${id}' failed${place}: ${messageOf(error)}`, {
      cause: error,
      cure: ofTheDisk(error) ?? `correct the source of ${id}`,
    });
  }
}

/** What no change of the source can repair. */
function ofTheDisk(error: unknown): string | null {
  const place = error instanceof Error && 'path' in error && typeof error.path === 'string' ? ` that holds ${error.path}` : '';
  switch (codeOf(error, '')) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `make room on the disk${place}`;
    case 'EROFS':
      return `make the disk${place} writable`;
    default:
      return null;
  }
}

/** What is thrown goes to the terminal as it is: it must not tell secrets. */
export async function cleanly<T>({ secrets }: Pick<HostParts, 'secrets'>, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw secrets.redactError(error);
  }
}
