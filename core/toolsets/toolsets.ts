import { realpathSync } from 'node:fs';
import path from 'node:path';
import { type Agreements, canRun, type ExtensionState } from '../kernel/records/extensions-port.ts';
import { type Diagnostic, messageOf, type Off, PithError, SkillProvider, type Toolset } from '../contract/index.ts';
import { TOOLSET_PREFIX } from '../kernel/records/extension-data.ts';
import type { ToolDescriptor } from '../kernel/records/extensions-port.ts';
import { remoteOf } from '../kernel/providers/handle.ts';
import { toolsOf } from '../kernel/providers/tools.ts';
import type { Declaration } from '../kernel/discovery/declaration.ts';
import { recorded, type Lifecycle } from '../kernel/lifecycle/lifecycle.ts';
import { wantedOf, type Slot } from '../kernel/lifecycle/slot.ts';
import type { ProcessTier } from '../kernel/lifecycle/tier.ts';
import { isToolsetId, TOOLSET_INVALID } from './toolset-declaration.ts';
import { isUnchanged, type ToolsetSources } from './toolset-sources.ts';

/** The tools of a toolset, and what is wrong with those of its modules that bring none. */
export interface OpenedToolset {
  readonly extensionId: string;
  readonly tools: readonly ToolDescriptor[];
  readonly notes: readonly Diagnostic[];
}

/** A toolset for which nobody has asked for so long is forgotten; its process has ended long before. */
const FORGOTTEN_AFTER_MS = 30 * 60_000;

interface Entry {
  readonly providerId: string;
  readonly slot: Slot;
  /** What was asked for. */
  asked: string;
  sources: ToolsetSources;
  askedAt: number;
  /** What was last published of it. */
  told: string;
}

/** A toolset that waits until a person agrees to these very bytes. */
export interface Unconfined {
  readonly digest: string;
  readonly diagnostic: Diagnostic;
}

export interface ToolsetOptions {
  readonly packageRoot: string;
  readonly trust: Agreements | undefined;
  readonly agreements?: Agreements | undefined;
}

/** The toolsets that are known now: each has a slot among those of extensions, and lives as they do. */
export class Toolsets {
  readonly #lifecycle: Lifecycle;
  readonly #slots: ReadonlyMap<string, Slot>;
  readonly #entries = new Map<string, Entry>();
  readonly #opening = new Map<string, Promise<unknown>>();
  readonly #unconfined = new Map<string, Unconfined>();
  readonly #processes: ProcessTier | undefined;
  readonly #options: ToolsetOptions;
  readonly #off: Off;

  constructor(lifecycle: Lifecycle, processes: ProcessTier | undefined, options: ToolsetOptions) {
    this.#processes = processes;
    this.#options = options;
    this.#lifecycle = lifecycle;
    this.#slots = lifecycle.slots;
    this.#off = lifecycle.runtime.services.events.handle('provider.changed', ({ protocol }) =>
      protocol === 'skill' ? this.compare() : undefined,
    );
  }

  close(): void {
    this.#off();
  }

  /** Known from the index, else loaded; reloaded when its code has changed. Rejects with the reason. */
  open(providerId: string, toolset: Toolset): Promise<OpenedToolset> {
    const { id } = toolset;
    const after = (this.#opening.get(id) ?? Promise.resolve()).then(() => this.#open(providerId, toolset));
    const done = after.catch(recorded).finally(() => {
      if (this.#opening.get(id) === done) this.#opening.delete(id);
    });
    this.#opening.set(id, done);
    return after;
  }

  /** Those that were not opened because nothing would hold them, by the skill's id. */
  unconfined(): ReadonlyMap<string, Unconfined> {
    return this.#unconfined;
  }

  /** Told which extensions are not what they were. */
  changed(ids: ReadonlySet<string>): void {
    if (this.#lifecycle.stopped) return;
    const providers = [...this.#entries.values()].flatMap(({ providerId }) => this.#slots.get(providerId) ?? []);
    const isWorth = ({ id, current }: Slot): boolean => ids.has(id) && (current !== null || !canRun(this.#stateOf(id)));
    const isGone = [...this.#entries.values()].some(({ providerId }) => !this.#slots.has(providerId));
    if (isGone || providers.some(isWorth)) void this.compare();
  }

  /** Those that its provider has no longer are closed: what calls them is told that they are gone. Never rejects. */
  async compare(): Promise<void> {
    for (const providerId of new Set([...this.#entries.values()].map((entry) => entry.providerId))) {
      const offered = await this.#offered(providerId);
      if (offered === null) continue;
      for (const [id, entry] of this.#entries) if (entry.providerId === providerId && !offered.has(id)) this.#forget(id, entry);
    }
  }

  /** Opens every toolset of every skill that is offered, a few at a time, so that what is wrong with them shows. Never rejects. */
  async openAll(): Promise<void> {
    const wanted: (readonly [string, Toolset])[] = [];
    for (const { id } of this.#providers()) for (const toolset of (await this.#listed(id)) ?? []) wanted.push([id, toolset]);
    const isMany = wanted.length > MOST_OPEN;
    const lane = async (): Promise<void> => {
      for (let next = wanted.shift(); next; next = wanted.shift()) {
        const [providerId, toolset] = next;
        const slot = await this.open(providerId, toolset).then(({ extensionId }) => this.#slots.get(extensionId), recorded);
        if (slot) await this.#lifecycle.ready(slot).catch(recorded);
        if (slot?.current && isMany) this.#lifecycle.post(slot.id, { type: 'idle', number: slot.current.number });
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  async #open(providerId: string, toolset: Toolset): Promise<OpenedToolset> {
    const { id } = toolset;
    const extensionId = TOOLSET_PREFIX + id;
    const directory = this.#directoryOf(providerId, toolset);
    const entry = await this.#upToDate(providerId, toolset, directory);
    entry.askedAt = this.#lifecycle.runtime.clock.now();
    this.#sweep();
    try {
      const tools = await toolsOf(this.#lifecycle, extensionId);
      const notes = notesOf(this.#lifecycle, entry.slot);
      this.#tell(
        id,
        entry,
        tools,
        notes.map(({ message }) => message),
      );
      return { extensionId, tools, notes };
    } catch (error) {
      this.#tell(id, entry, [], [messageOf(error)]);
      throw error;
    }
  }

  #tell(toolsetId: string, entry: Entry, tools: readonly ToolDescriptor[], problems: readonly string[]): void {
    const outcome = { toolsetId, tools: tools.map(({ name }) => name), problems };
    const text = JSON.stringify(outcome);
    if (text !== entry.told) this.#lifecycle.runtime.services.events.publish('toolset.loaded', outcome);
    entry.told = text;
  }

  async #upToDate(providerId: string, toolset: Toolset, directory: string): Promise<Entry> {
    const asked = JSON.stringify([directory, toolset.modules]);
    const before = this.#ownEntry(providerId, toolset);
    if (before && before.asked === asked && isUnchanged(before.sources)) return before;
    const { declaration, sources } = await this.#lifecycle.runtime.loader.toolset(toolset, directory);
    await this.#mayRun(toolset, declaration);
    const wanted = wantedOf(this.#lifecycle.runtime, declaration, null);
    const known = this.#ownEntry(providerId, toolset); // it may have gone meanwhile
    if (!known) {
      const slot = this.#lifecycle.declare(wanted);
      const entry: Entry = { providerId, slot, asked, sources, askedAt: 0, told: '' };
      this.#entries.set(toolset.id, entry);
      return entry;
    }
    Object.assign(known, { asked, sources });
    if (!isSame(known.slot.written.declaration, declaration)) {
      this.#lifecycle.declare(wanted);
      await this.#lifecycle.settled(declaration.id);
    }
    return known;
  }

  /**
   * Rejects `sandbox_unavailable` for code that came with a skill where no sandbox holds it and no person agreed to that: it would run as they
   * do. To run everything without a sandbox is their choice too, and what ships in Pith's own folder is Pith's.
   */
  async #mayRun({ id }: Toolset, { directory, digest }: Declaration): Promise<void> {
    const { sandbox } = this.#lifecycle.runtime.places;
    const { packageRoot, trust, agreements = trust } = this.#options;
    const found = (await this.#processes?.confinement()) ?? null;
    const shipped = path.join(packageRoot, 'sandbox');
    const isShipped = shipped !== sandbox && isBelow(path.join(shipped, 'skills'), directory);
    this.#unconfined.delete(id);
    if (found === null || found.available || isShipped || agreements?.isAgreed('unconfined', digest)) return;
    const message = `the toolset of the skill '${id}' is not opened: it would run not sandboxed on this system, as you, and nobody agreed to that (digest ${digest}): ${found.why}`;
    const cure = `${found.cure}; or agree to it once: pith extensions allow ${TOOLSET_PREFIX}${id}`;
    this.#unconfined.set(id, { digest, diagnostic: { severity: 'warning', code: 'sandbox_unavailable', message, file: directory, cure } });
    throw new PithError('sandbox_unavailable', message, { cure });
  }

  #ownEntry(providerId: string, { id }: Toolset): Entry | undefined {
    const known = this.#entries.get(id);
    if (known && known.providerId !== providerId) throw refused(`'${known.providerId}' has a toolset '${id}' already`);
    return known;
  }

  /** The real folder. An extension in a separate process has none shown to others that it may not read itself. */
  #directoryOf(providerId: string, { id, directory }: Toolset): string {
    if (!isToolsetId(id)) throw refused(`'${id.slice(0, 100)}' cannot be the id of a toolset`);
    const provider = this.#slots.get(providerId)?.declaration;
    let found: string;
    try {
      found = realpathSync(directory);
    } catch (error) {
      throw new PithError(TOOLSET_INVALID, `the folder of the toolset '${id}' cannot be read: ${messageOf(error)}`, { cause: error });
    }
    if (!provider || !this.#mayShow(provider, found))
      throw refused(`'${providerId}' runs in a separate process and may not read ${directory}`);
    return found;
  }

  #mayShow(provider: Declaration, folder: string): boolean {
    const { sandbox, dataDirectory } = this.#lifecycle.runtime.places;
    if (this.#lifecycle.runtime.rights.tierOf(provider) === 'in_process') return true;
    const project = path.dirname(sandbox);
    const { read = [], write = [] } = provider.manifest?.permissions ?? {};
    const places = [
      provider.directory,
      project,
      ...[...read, ...write].map((place) => (place === '*' ? '/' : path.resolve(project, place))),
    ];
    return !isBelow(dataDirectory, folder) && places.some((place) => isBelow(place, folder));
  }

  #sweep(): void {
    const now = this.#lifecycle.runtime.clock.now();
    for (const [id, entry] of this.#entries) {
      if (now < entry.askedAt) entry.askedAt = now; // the clock was set back
      if (now - entry.askedAt > FORGOTTEN_AFTER_MS && !entry.slot.current?.calls.size && !this.#opening.has(id)) this.#forget(id, entry);
    }
  }

  #forget(id: string, { slot }: Entry): void {
    this.#entries.delete(id);
    this.#lifecycle.withdraw(slot.id);
  }

  #stateOf(extensionId: string): ExtensionState | undefined {
    const slot = this.#slots.get(extensionId);
    return slot && this.#lifecycle.stateOf(slot);
  }

  #providers(): readonly Slot[] {
    return [...this.#slots.values()].filter(({ declaration }) => declaration.manifest?.provides.includes('skill'));
  }

  /** null: it cannot say. */
  async #offered(providerId: string): Promise<ReadonlySet<string> | null> {
    if (!this.#slots.get(providerId)?.pending && !canRun(this.#stateOf(providerId))) return new Set();
    const listed = await this.#listed(providerId);
    return listed && new Set(listed.map(({ id }) => id));
  }

  async #listed(providerId: string): Promise<readonly Toolset[] | null> {
    try {
      const found = await remoteOf(this.#lifecycle, providerId, SkillProvider).listToolsets?.();
      return Array.isArray(found) ? (found as readonly Toolset[]).filter(isToolset) : null;
    } catch {
      return null; // recorded; an extension without the method has none
    }
  }
}

const LANES = 4;
/** Of more, each process ends when it has been looked at. */
const MOST_OPEN = 16;

function isToolset(value: Toolset): boolean {
  return typeof value?.id === 'string' && typeof value.directory === 'string' && Array.isArray(value.modules);
}

function isSame(a: Declaration, b: Declaration): boolean {
  return a.digest === b.digest && a.directory === b.directory;
}

function refused(why: string): PithError {
  return new PithError('not_allowed', `the toolset cannot be loaded: ${why}`);
}

function isBelow(folder: string, file: string): boolean {
  const relative = path.relative(folder, file);
  return relative !== '..' && !relative.startsWith(`..${path.sep}`);
}

/** What was found wrong when it was loaded, or why what runs is not what is written. */
export function notesOf({ runtime }: Lifecycle, { id, notes, declaration: { file } }: Slot): readonly Diagnostic[] {
  const found = [...notes].flatMap(([message, code]) => (code === TOOLSET_INVALID ? [message] : []));
  const last = runtime.failures.last(id);
  if (last?.phase === 'reload') found.push(last.message);
  return found.map((message) => ({ severity: 'warning', code: TOOLSET_INVALID, message, file, cure: "correct it; see 'pith doctor'" }));
}
