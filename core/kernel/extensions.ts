import { type Failure, keepsNames, type Discovery } from '../declarations/index.ts';
import { canRun, type ExtensionState } from './lifecycle/actor.ts';
import { runOutside } from './records/stray-errors.ts';
import { recorded, type Lifecycle } from './lifecycle/lifecycle.ts';
import { type ExtensionStatus, statusOf } from './providers/status.ts';
import type { Refresh } from './reload/refresh.ts';
import type { ReloadWatch } from './reload/reload-watch.ts';

/** What is known of an extension without loading it. */
export interface ExtensionFacts {
  /** Ids of all declared extensions, sorted. */
  ids(): readonly string[];
  /** undefined: nothing declares this id. */
  state(extensionId: string): ExtensionState | undefined;
  /** Whether its code is neither shipped nor let into the kernel by a person. */
  isForeign(extensionId: string): boolean;
  /** Whether what it names, an agent or an extension, ships under this id: an equal name of others gives way. */
  keepsNames(id: string): boolean;
  /** Digest of the sources that run, or would; null: nothing declares this id. */
  sourceOf(extensionId: string): string | null;
}

/** All extensions of a sandbox, and their life. */
export interface Extensions extends ExtensionFacts {
  /** As the last look at the disk found it. */
  readonly discovery: Discovery;
  /** Every declared extension, sorted by id. Loads nothing. */
  list(): readonly ExtensionStatus[];
  /** null: nothing declares this id. */
  show(extensionId: string): ExtensionStatus | null;
  /** Loads, constructs and initialises it after what it depends on. The status says what came of it; rejects `not_found`. */
  activate(extensionId: string): Promise<ExtensionStatus>;
  /** Every enabled extension, side by side. */
  activateAll(): Promise<readonly ExtensionStatus[]>;
  /** By hand, also when nothing changed, here and in other processes; closes an open breaker. Rejects `not_found`. */
  reload(extensionId: string): Promise<ExtensionStatus>;
  /** Looks at the disk and reloads what changed. Returns the ids of extensions and agents that did. */
  refresh(): Promise<ReadonlySet<string>>;
  /** What keeps declarations from running, then what went wrong while they ran, oldest first. */
  failures(): readonly Failure[];
  /** Told the ids of extensions and agents whose declaration or state changed. */
  onChange(listener: (ids: ReadonlySet<string>) => void): () => void;
}

/** `activated`: awaited when everything has been activated. */
export function createExtensions(
  lifecycle: Lifecycle,
  { refresh, watch }: { readonly refresh: Refresh; readonly watch: ReloadWatch },
  onChange: Extensions['onChange'],
  activated: () => Promise<void>,
): Extensions {
  const { slots } = lifecycle;
  const show = (id: string): ExtensionStatus | null => {
    const slot = slots.get(id);
    return slot ? statusOf(lifecycle, slot) : null;
  };
  const list = (): readonly ExtensionStatus[] => [...slots.keys()].sort().flatMap((id) => show(id) ?? []);
  return {
    ids: () => [...slots.values()].flatMap(({ id, declaration }) => (declaration.dynamic ? [] : [id])).sort(),
    state(id) {
      const slot = slots.get(id);
      return slot && lifecycle.stateOf(slot);
    },
    isForeign(id) {
      const slot = slots.get(id);
      return slot !== undefined && lifecycle.runtime.rights.isForeign(slot.declaration);
    },
    keepsNames(id) {
      const declaration = refresh.discovery.declarations.get(id);
      return declaration !== undefined && keepsNames(declaration);
    },
    sourceOf: (id) => slots.get(id)?.declaration.digest ?? null, // of what runs
    get discovery() {
      return refresh.discovery;
    },
    list,
    show,
    async activate(id) {
      const slot = lifecycle.slotOf(id);
      await lifecycle.ready(slot).catch(recorded);
      return statusOf(lifecycle, slot);
    },
    async activateAll() {
      const able = [...slots.values()].filter((slot) => canRun(lifecycle.stateOf(slot)));
      await Promise.all(able.map((slot) => lifecycle.ready(slot).catch(recorded)));
      await activated();
      return list();
    },
    async reload(id) {
      const { ids, settled } = await refresh.look();
      await settled;
      const slot = lifecycle.slotOf(id);
      if (!ids.has(id) || !slot.current) await runOutside(() => refresh.reloadByHand(id));
      await watch.ask(id);
      return statusOf(lifecycle, slot);
    },
    async refresh() {
      const { ids, settled } = await refresh.look();
      await settled;
      return ids;
    },
    failures() {
      const declared = [...refresh.discovery.failures.values()].filter(({ extensionId }) => slots.has(extensionId));
      return [...declared, ...lifecycle.runtime.failures.all()];
    },
    onChange,
  };
}
