import { messageOf, PithError } from '../../contract/errors.ts';
import type { Phase, Protocol, ProtocolId, Remote } from '../../contract/index.ts';
import type { Generation } from '../lifecycle/generation.ts';
import { correlationOf, invoke, recordCall } from './invoke.ts';
import { PROTOCOLS } from './protocols.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { slotKey, type Slot } from '../lifecycle/slot.ts';
import type { SurfaceDescriptor } from './surface.ts';
import { splitSignal } from './wire.ts';

const DEFAULT_TIMEOUT_MS = 10_000;

/** Of what each turn asks for. */
const PHASES: ReadonlyMap<string, Phase> = new Map<string, Phase>([
  ['context.getContext', 'getContext'],
  ['tool.getTurnTools', 'getTurnTools'],
]);

/** A provider that stays reachable across reloads: each call goes to the version that runs then. */
export function remoteOf<T extends object>(lifecycle: Lifecycle, extensionId: string, protocol: Protocol<T>): Remote<T> {
  const handle: Record<string, unknown> = { extensionId };
  for (const [name, member] of Object.entries(protocol.members)) {
    const operation = `${protocol.id}.${name}`;
    if (member.kind === 'constant') {
      Object.defineProperty(handle, name, { enumerable: true, get: () => constant(lifecycle, extensionId, operation) });
    } else if (member.kind === 'stream') {
      handle[name] = (...args: unknown[]) => stream(lifecycle, extensionId, operation, args);
    } else {
      handle[name] = (...args: unknown[]) => callProvider(lifecycle, extensionId, operation, args);
    }
  }
  return Object.freeze(handle) as Remote<T>;
}

/** One call through a handle. Rejects `stopped` while the provider is gone. */
export async function callProvider(
  lifecycle: Lifecycle,
  extensionId: string,
  operation: string,
  args: readonly unknown[],
  byReference = false,
): Promise<unknown> {
  const { parts } = lifecycle;
  const { timeoutMs, signalAt } = limitsOf(operation);
  const { values, signal } = splitSignal(args, signalAt);
  const phase = PHASES.get(operation) ?? 'call';
  const generation = await running(lifecycle, extensionId);
  try {
    return await invoke(parts, generation, { operation, values, timeoutMs, signal, phase, byReference });
  } catch (error) {
    recordCall(parts, extensionId, phase, error, correlationOf(values));
    throw parts.wire.error(error);
  }
}

/** What an extension offers, from the version that runs, else from the index; undefined when neither knows. */
export function descriptorOf(lifecycle: Lifecycle, slot: Slot): SurfaceDescriptor | undefined {
  return (
    slot.current?.surface.descriptor ?? (lifecycle.parts.options.index.surface(slot.id, slotKey(slot)) as SurfaceDescriptor | undefined)
  );
}

/** A stream has no limit but the caller's signal and the provider's life: it may last. */
function limitsOf(operation: string): { readonly timeoutMs: number | null; readonly signalAt: number | undefined } {
  const [protocol = '', name = ''] = operation.split('.');
  const member = PROTOCOLS.get(protocol as ProtocolId)?.members[name];
  const timeoutMs = member?.kind === 'stream' ? null : member?.timeoutMs;
  return { timeoutMs: timeoutMs === undefined ? DEFAULT_TIMEOUT_MS : timeoutMs, signalAt: member?.signalAt };
}

/** The version that runs; waits for one that is being replaced. Rejects `stopped`. */
export async function running(lifecycle: Lifecycle, extensionId: string): Promise<Generation> {
  const slot = lifecycle.slots.get(extensionId);
  if (slot?.current) return slot.current;
  try {
    if (slot) return await lifecycle.ready(slot);
  } catch (error) {
    throw new PithError('stopped', messageOf(error), { cause: error, retryable: true });
  }
  throw new PithError('stopped', `the extension '${extensionId}' is not there any more`);
}

function constant(lifecycle: Lifecycle, extensionId: string, operation: string): unknown {
  const slot = lifecycle.slots.get(extensionId);
  return slot && descriptorOf(lifecycle, slot)?.constants[operation];
}

async function* stream(lifecycle: Lifecycle, extensionId: string, operation: string, args: readonly unknown[]): AsyncGenerator<unknown> {
  const { parts } = lifecycle;
  const parcels = (await callProvider(lifecycle, extensionId, operation, args, true)) as AsyncIterable<unknown>;
  try {
    for await (const parcel of parcels) yield parts.wire.pass(parcel, `a part of ${operation}`);
  } catch (error) {
    recordCall(parts, extensionId, 'call', error);
    throw parts.wire.error(error);
  }
}
