import { messageOf } from '../../contract/index.ts';
import type { Generation } from '../calls/generation.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { type FailedCall, type Invocation, invoke, recordCall } from '../calls/invoke.ts';
import { running } from './handle.ts';

/**
 * Calls a handler of durable work; loads its extension when needed. Rejects with what it threw, `Postponed` while it is not there or when it
 * was replaced meanwhile. `canTake`: whether a version can be given the work. Where nothing else reports what it threw, it is `recorded` as
 * a failure of the extension.
 */
export async function callInBackground(
  lifecycle: Lifecycle,
  call: FailedCall,
  asked: Omit<Invocation, 'phase'>,
  { canTake = () => true, recorded = true }: { readonly canTake?: (generation: Generation) => boolean; readonly recorded?: boolean } = {},
): Promise<unknown> {
  const { runtime } = lifecycle;
  const generation = await running(lifecycle, call.extensionId).catch((error: unknown) => {
    throw new Postponed(runtime.secrets.redactError(error));
  });
  if (!canTake(generation)) throw new Postponed(`a version of '${call.extensionId}' that knows ${asked.operation} has not been loaded yet`);
  try {
    return await invoke(lifecycle, generation, { ...asked, phase: call.phase });
  } catch (error) {
    if (recorded && !asked.signal?.aborted) recordCall(runtime, call, error);
    const redacted = runtime.secrets.redactError(error);
    throw generation.calls.isCut ? new Postponed(redacted, false, true) : redacted;
  }
}

/**
 * Only the kernel throws it: the handler is not there, was replaced, or nobody can be reached. The delivery waits and has not failed.
 * From the sixtieth time on it counts as failed all the same, unless it is `unlimited`.
 */
export class Postponed extends Error {
  constructor(
    cause: unknown,
    readonly unlimited = false,
    /** The handler was called. */
    readonly hasBegun = false,
  ) {
    super(messageOf(cause), { cause });
    this.name = 'Postponed';
  }
}
