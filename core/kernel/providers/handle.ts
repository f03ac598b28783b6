import { messageOf, PithError, type Protocol, type Remote } from '../../contract/index.ts';
import { KERNEL_PROTOCOLS, type Declaration } from '../../declarations/index.ts';
import type { ProviderMember } from '../lifecycle/tiers.ts';
import type { Phase } from '../records/error-codes.ts';
import type { Generation } from '../calls/generation.ts';
import { correlationOf, invoke, invokeStream, recordCall, splitSignal } from '../calls/invoke.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { DEFAULT_TIMEOUT_MS } from '../calls/surface.ts';

/** Its answer holds functions. */
export const COMMANDS = 'command.getCommands';

/** Of what each turn asks for. */
const PHASES: ReadonlyMap<string, Phase> = new Map<string, Phase>([
  ['context.getContext', 'getContext'],
  ['tool.getTurnTools', 'getTurnTools'],
]);

/** A provider that stays reachable across reloads: each call goes to the version that runs then. */
export function remoteOf<T extends object>(lifecycle: Lifecycle, extensionId: string, protocol: Protocol<T>): Remote<T> {
  return handleOf(extensionId, protocol, {
    constant: (name) => constant(lifecycle, extensionId, `${protocol.id}.${name}`),
    call: (name, args) => callProvider(lifecycle, extensionId, `${protocol.id}.${name}`, args),
    stream: (name, args) => stream(lifecycle, extensionId, `${protocol.id}.${name}`, args),
  });
}

/** The members of a protocol, each as its kind is reached. */
export function handleOf<T extends object>(
  extensionId: string,
  { members }: Protocol<T>,
  reach: { constant(name: string): unknown } & Record<'call' | 'stream', (name: string, args: readonly unknown[]) => unknown>,
): Remote<T> {
  const handle: Record<string, unknown> = { extensionId };
  for (const [name, { kind }] of Object.entries(members)) {
    if (kind === 'constant') Object.defineProperty(handle, name, { enumerable: true, get: () => reach.constant(name) });
    else handle[name] = (...args: unknown[]) => reach[kind === 'stream' ? 'stream' : 'call'](name, args);
  }
  return Object.freeze(handle) as Remote<T>;
}

/** What says of an extension that nothing that it needs provides a protocol. */
export function unprovided({ id, file }: Declaration, protocol: Protocol): PithError {
  return new PithError('not_declared', `'${id}' asks for a provider of '${protocol.id}', but nothing in its depends_on provides it`, {
    where: file,
    cure: "add the provider's id to 'depends_on', or use context.find",
  });
}

/** One call through a handle. Rejects `stopped` while the provider is gone. */
export async function callProvider(
  lifecycle: Lifecycle,
  extensionId: string,
  operation: string,
  args: readonly unknown[],
): Promise<unknown> {
  const { runtime, wire } = lifecycle;
  const { values, signal } = splitSignal(args);
  const phase = PHASES.get(operation) ?? 'call';
  const generation = await running(lifecycle, extensionId);
  const { timeoutMs = DEFAULT_TIMEOUT_MS, byReference } = generation.surface.descriptor.operations[operation] ?? {};
  try {
    return await invoke(lifecycle, generation, { operation, values, timeoutMs, signal, phase, byReference });
  } catch (error) {
    recordCall(runtime, { extensionId, phase, correlationId: correlationOf(values) }, error);
    throw wire.error(error);
  }
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
  return slot && lifecycle.descriptorOf(slot)?.constants[operation];
}

async function* stream(lifecycle: Lifecycle, extensionId: string, operation: string, args: readonly unknown[]): AsyncGenerator<unknown> {
  const { runtime, wire } = lifecycle;
  const { values, signal } = splitSignal(args);
  const generation = await running(lifecycle, extensionId);
  try {
    yield* invokeStream(lifecycle, generation, { operation, values, signal });
  } catch (error) {
    recordCall(runtime, { extensionId, phase: 'call', correlationId: correlationOf(values) }, error);
    throw wire.error(error);
  }
}

/** A call that code in a separate process makes of another extension. Rejects `not_allowed` for what acts as a person or as the kernel. */
export async function callFromProcess(
  lifecycle: Lifecycle,
  user: Declaration,
  { extensionId, protocol, name }: ProviderMember,
  args: readonly unknown[],
): Promise<unknown> {
  const manifest = lifecycle.slots.get(extensionId)?.declaration.manifest;
  const operation = `${protocol}.${name}`;
  if (KERNEL_PROTOCOLS.get(protocol)?.inProcessOnly) throw unreachable(user, protocol);
  if (manifest && !manifest.provides.includes(protocol)) throw new PithError('not_declared', `'${extensionId}' provides no '${protocol}'`);
  const { inProcessOnly, operations } = (await running(lifecycle, extensionId)).surface.descriptor;
  if (inProcessOnly.includes(protocol)) throw unreachable(user, protocol);
  const facts = operations[operation];
  if (facts === undefined) throw new PithError('not_declared', `there is no ${operation}`);
  return (facts.stream ? stream : callProvider)(lifecycle, extensionId, operation, args);
}

function unreachable({ id, file }: Declaration, protocol: string): PithError {
  return new PithError('not_allowed', `'${id}' runs in a separate process and cannot use providers of '${protocol}'`, {
    where: file,
    cure: `if you trust it, let it run in the kernel: extensions.${id}.isolation: in_process in pith.yaml`,
  });
}
