import { createHash } from 'node:crypto';
import { canRun, type ExtensionState } from '../records/extensions-port.ts';
import type { Failure } from '../../contract/index.ts';
import { canonicalJson } from '../records/plain-data.ts';
import type { Declaration } from '../discovery/declaration.ts';
import { isBlocked } from '../discovery/order.ts';
import type { Generation, Version } from '../calls/generation.ts';
import type { Runtime } from './runtime.ts';
import type { Wanted } from './state.ts';

/** One extension as others see it: what it declares, and which version runs. */
export interface Slot extends Version {
  readonly id: string;
  /** As the folder and the settings have it now. Differs from what it declares while the last good version stands in for it. */
  readonly written: Version;
  /** Why what is declared cannot run as it is written. */
  readonly declared: Failure | null;
  /** The version that answers calls. */
  readonly current: Generation | null;
  /** A version that runs is on its way; rejects `provider_unavailable`. */
  readonly pending: Promise<Generation> | null;
  /** Why loading it failed, until it changes or is reloaded by hand. */
  readonly failure: Failure | null;
  /** Findings that do not stop it, with their codes. */
  readonly notes: ReadonlyMap<string, string>;
}

type Slots = ReadonlyMap<string, Slot>;

export function stateOf(slots: Slots, slot: Slot): ExtensionState {
  if (!slot.written.config.enabled) return 'disabled';
  // A version that runs stays, also when its manifest has been broken since.
  if (slot.current) return 'active';
  if (slot.failure) return 'failed';
  if (slot.declared && isLasting(slots, slot, slot.declared)) return isBlocked(slot.declared) ? 'blocked' : 'failed';
  return blockerOf(slots, slot) === undefined ? 'idle' : 'blocked';
}

/** What was found when the folders were read may have been overtaken: what it depends on may run, as its last good version. */
function isLasting(slots: Slots, slot: Slot, failure: Failure): boolean {
  if (failure.code !== 'dependency_failed') return true;
  return blockerOf(slots, slot) !== undefined || !(slot.declaration.manifest?.depends_on ?? []).every((id) => slots.has(id));
}

/** The hard dependency that keeps an extension from running. */
export function blockerOf(slots: Slots, slot: Slot): Slot | undefined {
  for (const id of slot.declaration.manifest?.depends_on ?? []) {
    const dependency = slots.get(id);
    if (dependency && !dependency.pending && !canRun(stateOf(slots, dependency))) return dependency;
  }
  return undefined;
}

/** Those that run or can run. */
export function runnable(slots: Slots): readonly Slot[] {
  return [...slots.values()].filter((slot) => slot.pending || canRun(stateOf(slots, slot)));
}

/** What folder and settings want of an extension. The secrets that it may have are hidden from here on. */
export function wantedOf(
  { rights, secrets }: Pick<Runtime, 'rights' | 'secrets'>,
  declaration: Declaration,
  declared: Failure | null,
): Wanted {
  const config = rights.configOf(declaration);
  secrets.declare(config.secrets);
  const { digest, directory, withheld = [], replacesShipped = false } = declaration;
  return { declaration, config, declared, key: canonicalJson([digest, directory, withheld, replacesShipped, JSON.stringify(config)]) };
}

/** Changes whenever sources or configuration do. */
export function slotKey({ declaration, config }: Version): string {
  return createHash('sha256').update(declaration.digest).update('\0').update(canonicalJson(config.config)).digest('hex').slice(0, 32);
}
