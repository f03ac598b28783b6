import { open } from 'node:fs/promises';
import { messageOf, PithError, type Clock } from 'pith';
import { guardedFetch } from '@pith/guarded-fetch';
import { LIMITS, refused } from './entry.ts';

const TIME_MS = 120_000;

/**
 * Writes what lies at an http(s) address into a file. `allow`: addresses that may be private. Rejects `download_failed`, `address_refused`,
 * and `origin_refused` for what is too large.
 */
export async function download(
  address: string,
  file: string,
  { clock, allow }: { readonly clock: Clock; readonly allow: readonly string[] },
  signal?: AbortSignal,
): Promise<void> {
  const late = new AbortController();
  const cancel = clock.after(TIME_MS, () => late.abort(new Error(`it took longer than ${TIME_MS / 1000} s`)));
  const both = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
  try {
    const answer = await guardedFetch({ allow })(address, {
      signal: both,
      headers: { accept: 'application/zip, application/octet-stream' },
    });
    if (!answer.ok || answer.body === null) throw new Error(`the server answers ${answer.status}`);
    const tooLarge = () => refused(`it is larger than ${LIMITS.bytes / 1024 / 1024} MB`);
    if (Number(answer.headers.get('content-length') ?? 0) > LIMITS.bytes) throw tooLarge();
    const handle = await open(file, 'wx', 0o600);
    try {
      let bytes = 0;
      for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
        bytes += chunk.length;
        if (bytes > LIMITS.bytes) throw tooLarge();
        await handle.writeFile(chunk);
      }
    } finally {
      await handle.close();
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PithError) throw error;
    const why = error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error);
    throw new PithError('download_failed', `cannot fetch ${address}: ${why}`, {
      cause: error,
      cure: 'check the address and the connection',
    });
  } finally {
    cancel();
  }
}
