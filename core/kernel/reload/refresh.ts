import { messageOf } from '../../contract/index.ts';
import { type Failure, type Declaration, type Discovery, extensionsOf, type Quarantine } from '../../declarations/index.ts';
import { within } from '@pith/promises';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { canonicalJson } from '@pith/plain-data';
import { wantedOf } from '../lifecycle/actor.ts';
import type { Wanted } from '../lifecycle/state.ts';
import { runOutside } from '../records/stray-errors.ts';

/** How long a turn waits for a reload that does not end. */
const RELOAD_WAIT_MS = 1000;

/** The folders and the settings of a sandbox. */
export interface SandboxSource {
  /** Folders whose changes are worth a look: `extensions` and `agents` of every sandbox. */
  readonly watched: readonly string[];
  /** Versions that are not started, because the kernel crashed with them. */
  readonly quarantine?: Quarantine;
  /** Reads the folders again; cheap when nothing changed. `at`: now. `polls`: nothing tells of a change, so what ships need not be looked at. */
  discover(at: number, polls?: boolean): Promise<Discovery>;
  /** Reads the settings files again; true when something changed. */
  renewSettings?(): Promise<boolean>;
  /** What a look at the disk changed has been replaced. */
  renewed?(): Promise<void>;
}

interface Look {
  readonly ids: ReadonlySet<string>;
  /** Never rejects. */
  readonly settled: Promise<void>;
}

/** What is declared now, and how what runs is brought in line with it. */
export class Refresh {
  #lookedAt: number;
  #looking: Promise<Look> | null = null;
  #following: Promise<Look> | null = null;
  /** What the looks so far have changed, until all of it has been replaced. */
  #settling: Promise<void> | null = null;

  constructor(
    private readonly lifecycle: Lifecycle,
    private readonly source: SandboxSource,
    public discovery: Discovery,
    private readonly changed: (ids: ReadonlySet<string>) => void,
  ) {
    this.#lookedAt = lifecycle.runtime.clock.now();
    for (const declaration of extensionsOf(discovery)) this.#declare(declaration);
  }

  /** Looks when the last look began `ms` ago or earlier, and waits a moment for what a look changed, also the one before. */
  async lookIfOlderThan(ms: number): Promise<void> {
    const { clock } = this.lifecycle.runtime;
    const isRecent = Math.abs(clock.now() - this.#lookedAt) < ms; // the clock may have been set back
    await (isRecent ? (this.#following ?? this.#looking) : this.look());
    if (this.#settling !== null) await within(clock, RELOAD_WAIT_MS, this.#settling, () => undefined);
  }

  /**
   * Looks at the disk. `settled`: when everything that changed has been replaced. Whoever asks during a look shares one that follows it:
   * the one that runs may have read what was edited since. It answers for both, and looks at all. `polls`: as in `discover`.
   */
  look(polls = false): Promise<Look> {
    if (this.#looking === null) return (this.#looking = runOutside(() => this.#look(polls)).finally(() => (this.#looking = null)));
    return (this.#following ??= this.#follow(this.#looking.catch(() => null)));
  }

  async #follow(running: Promise<Look | null>): Promise<Look> {
    const former = await running;
    this.#following = null;
    const { ids, settled } = await this.look();
    if (former === null) return { ids, settled };
    return { ids: new Set([...former.ids, ...ids]), settled: Promise.all([former.settled, settled]).then(() => undefined) };
  }

  async #look(polls: boolean): Promise<Look> {
    const began = this.lifecycle.runtime.clock.now();
    if (!polls) this.#lookedAt = began;
    const former = this.discovery;
    const isRenewed = (await this.source.renewSettings?.()) ?? false;
    const next = await this.source.discover(began, polls);
    this.discovery = next;
    const ids = new Set([...changedIds(former, next), ...(isRenewed ? this.#configuredAnew() : [])]);
    const work = this.#apply(next, ids);
    if (ids.size > 0 || isRenewed) this.changed(ids);
    const settled = Promise.all(work)
      .then(async () => {
        await this.lifecycle.wakeServices(ids);
        if (ids.size > 0 || isRenewed) await this.source.renewed?.();
      })
      .catch((error) => this.lifecycle.runtime.logger('host').error('what changed could not be reported', { reason: messageOf(error) }));
    if (work.length > 0 || isRenewed) {
      const settling: Promise<void> = Promise.all([this.#settling, settled]).then(() => {
        if (this.#settling === settling) this.#settling = null;
      });
      this.#settling = settling;
    }
    return { ids, settled };
  }

  /** Those that the settings give other values than they have. */
  #configuredAnew(): readonly string[] {
    const { configOf } = this.lifecycle.runtime.rights;
    return [...this.lifecycle.slots.values()]
      .filter(({ written: { declaration, config } }) => JSON.stringify(configOf(declaration)) !== JSON.stringify(config))
      .map(({ id }) => id);
  }

  #apply(next: Discovery, changed: ReadonlySet<string>): readonly Promise<void>[] {
    const { slots } = this.lifecycle;
    const touched: string[] = [];
    const wanted = new Map(extensionsOf(next).map((declaration) => [declaration.id, declaration]));
    for (const [id, { written }] of slots) {
      if (wanted.has(id) || written.declaration.dynamic) continue;
      this.lifecycle.withdraw(id);
      touched.push(id);
    }
    for (const [id, declaration] of wanted) {
      if (slots.has(id) && !changed.has(id)) continue;
      this.#declare(declaration);
      touched.push(id);
    }
    return touched.map((id) => this.lifecycle.settled(id));
  }

  #declare(declaration: Declaration): void {
    this.lifecycle.declare(this.#wanted(declaration));
  }

  #wanted(declaration: Declaration): Wanted {
    const failure = this.discovery.failures.get(declaration.id) ?? this.#quarantined(declaration);
    return wantedOf(this.lifecycle.runtime, declaration, failure);
  }

  #quarantined({ id, digest, file }: Declaration): Failure | null {
    const found = this.source.quarantine?.of(id, digest);
    if (!found) return null;
    const { reason, at } = found;
    const cure = `edit it, or run: pith extensions reload ${id}`;
    return { extensionId: id, phase: 'start', code: 'quarantined', message: reason, at, file, cure };
  }

  /** As folder and settings have it now, also the settings that were written a moment ago. Lifts a quarantine. */
  async reloadByHand(extensionId: string): Promise<void> {
    await this.source.renewSettings?.();
    this.source.quarantine?.lift(extensionId);
    const slot = this.lifecycle.slots.get(extensionId);
    if (slot) await this.lifecycle.reloadByHand(this.#wanted(slot.written.declaration));
  }
}

/** Ids that came, went, changed their files or can run now and could not before, or the other way round. */
function changedIds(former: Discovery, next: Discovery): ReadonlySet<string> {
  const ids = new Set([...former.declarations.keys(), ...next.declarations.keys()]);
  for (const id of ids) if (stateText(former, id) === stateText(next, id)) ids.delete(id);
  return ids;
}

function stateText(discovery: Discovery, id: string): string | null {
  const declaration = discovery.declarations.get(id);
  if (!declaration) return null;
  const { at: _, ...failure } = discovery.failures.get(id) ?? { at: 0 };
  const { digest, directory, diagnostics, withheld = [] } = declaration;
  return canonicalJson([digest, directory, diagnostics, failure, withheld]);
}
