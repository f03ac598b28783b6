import { KeyedQueue } from '@pith/promises';
import { type Clock, type ExtensionContext, messageOf, PithError, type TopicMap } from 'pith';
import { takeTools } from '../agent-tools.ts';
import type { KernelPort } from '../kernel-port.ts';
import { asksOf } from '../activation-summary.ts';
import { digestOf, type Source } from '../sources.ts';
import type { ExtensionFolders } from './extension-folders.ts';
import type { Switch, SwitchJournal, Version, VersionStore } from './version-store.ts';

/** Failures within this time are part of the answer. */
const FIRST_MOMENT_MS = 500;

export interface ActivationPorts {
  readonly context: Pick<ExtensionContext, 'events' | 'logger'> & { readonly clock: Clock };
  readonly sandbox: string;
  readonly kernel: KernelPort;
  readonly versions: VersionStore;
  readonly folders: ExtensionFolders;
  readonly journal: SwitchJournal;
  /** Tells people that a version was taken back. */
  report(record: Switch, text: string): void;
}

/** What is put in the place of the files with the digest `former`; null: there are none. */
interface Exchange {
  readonly sources: readonly Source[];
  readonly former: string | null;
  edit(): Promise<readonly string[]>;
}

/** Who asks, and where the answer belongs. */
export interface Asker extends Pick<Switch, 'threadId' | 'userId' | 'correlationId'> {
  readonly by: string;
}

export type Activated =
  | { readonly ok: true; readonly version: number; readonly former: number | null }
  | { readonly ok: false; readonly version: number; readonly former: number | null; readonly reason: string };

/** Exchanges versions of extensions: whole, journalled, watched, and taken back when the new one fails. */
export class Activation {
  readonly #watches = new Map<string, () => void>();
  /** One of an extension at a time. */
  readonly #exchanges = new KeyedQueue();

  constructor(private readonly ports: ActivationPorts) {}

  /** Makes these files the active version. They, and what their manifest asks for, have been checked and agreed to. `edit`: after the exchange, before the extension is loaded. */
  activate(
    id: string,
    sources: readonly Source[],
    { asker: { by, ...recipient }, edit }: { readonly asker: Asker; edit(): Promise<readonly string[]> },
    signal: AbortSignal,
  ): Promise<Activated> {
    return this.#exchanges.run(id, async () => {
      const { kernel, versions } = this.ports;
      await kernel.allow(id, asksOf(sources), signal);
      const from = await this.#keepActive(id);
      const to = await versions.add(id, sources, by, from === null ? [] : [from.number]);
      const record = { id, from: from?.number ?? null, to: to.number, digest: to.digest, agents: [], ...recipient };
      return this.#exchange(record, { sources, former: from?.digest ?? null, edit }, signal);
    });
  }

  /** Makes a kept version active again; without a number the one before the active one. */
  rollBack(id: string, number: number | null, { threadId, userId, correlationId }: Asker, signal: AbortSignal): Promise<Activated> {
    return this.#exchanges.run(id, async () => {
      const from = await this.#keepActive(id);
      const wanted = number ?? (await this.#before(id, from?.number ?? null));
      const sources = await this.ports.versions.read(id, wanted);
      const digest = digestOf(sources);
      const record = { id, from: from?.number ?? null, to: wanted, digest, agents: [], threadId, userId, correlationId };
      return this.#exchange(record, { sources, former: from?.digest ?? null, edit: async () => [] }, signal);
    });
  }

  /** Finishes what a former process began: either version is whole, and a new one is watched. */
  async recover(signal: AbortSignal): Promise<void> {
    for (const record of this.ports.journal.open()) {
      if (this.#watches.has(record.id) || this.#exchanges.isBusy(record.id)) continue; // this process is at it
      await this.#exchanges
        .run(record.id, () => this.#recover(record, signal))
        .catch((error: unknown) =>
          this.ports.context.logger.error(`the exchange of '${record.id}' could not be finished`, { reason: messageOf(error) }),
        );
    }
  }

  /** Stops watching; the journal keeps what is not over. */
  close(): void {
    for (const end of this.#watches.values()) end();
    this.#watches.clear();
  }

  async #recover(record: Switch, signal: AbortSignal): Promise<void> {
    const { folders } = this.ports;
    await folders.recover();
    if ((await folders.digest(record.id)) !== record.digest) {
      this.ports.journal.close(record.id); // the new version never came, or a person has changed it since
      return this.#reloadQuietly(record.id, signal);
    }
    const watch = new FailureWatch(this.ports.context, record.id);
    const reason = await this.#load(record.id, watch, signal);
    if (reason === null) this.#watch(record, watch);
    else await this.#takeBack(record, watch, reason);
  }

  async #exchange(begun: Switch, { sources, former: expects, edit }: Exchange, signal: AbortSignal): Promise<Activated> {
    const { journal } = this.ports;
    this.#watches.get(begun.id)?.();
    await journal.write(begun);
    const watch = new FailureWatch(this.ports.context, begun.id);
    await this.ports.folders.exchange(begun.id, sources, expects).catch((error: unknown) => {
      journal.close(begun.id); // what was there is there
      throw error;
    });
    const record: Switch = { ...begun, agents: [...(await edit())] };
    await journal.write(record);
    const reason = await this.#load(begun.id, watch, signal);
    const { to: version, from: former } = record;
    if (reason === null) {
      this.#watch(record, watch);
      return { ok: true, version, former };
    }
    await this.#takeBack(record, watch, reason);
    return { ok: false, version, former, reason };
  }

  /** Why it does not run; null when it does. */
  async #load(id: string, watch: FailureWatch, signal: AbortSignal): Promise<string | null> {
    const status = await this.ports.kernel
      .reload(id, signal)
      .catch((error: unknown) => ({ ok: false, state: 'failed', message: messageOf(error) }));
    if (status.ok !== true) return watch.first === null ? (status.message ?? `it is ${status.state}`) : reasonOf(watch.first);
    await this.ports.context.clock.sleep(FIRST_MOMENT_MS);
    return watch.first && reasonOf(watch.first);
  }

  #watch(record: Switch, watch: FailureWatch): void {
    const { clock, logger } = this.ports.context;
    const over = (): void => {
      cancel();
      watch.end();
      this.#watches.delete(record.id);
    };
    const cancel = clock.after(WATCH_MS, () => {
      over();
      try {
        this.ports.journal.close(record.id);
      } catch (error) {
        logger.warn(`the watch of '${record.id}' could not be closed`, { reason: messageOf(error) });
      }
    });
    this.#watches.set(record.id, over);
    watch.onFailure((failure) => {
      over();
      const back = () => this.#takeBack(record, watch, reasonOf(failure));
      void this.#exchanges
        .run(record.id, back)
        .catch((error: unknown) => logger.error(`'${record.id}' failed and could not be taken back`, { reason: messageOf(error) }));
    });
  }

  /** The version before is in its place again; what was new goes. */
  async #takeBack(record: Switch, watch: FailureWatch, reason: string): Promise<void> {
    const { versions, folders, sandbox } = this.ports;
    watch.end();
    if ((await folders.digest(record.id)) !== record.digest) return this.ports.journal.close(record.id); // a person has changed it since
    const { signal } = new AbortController();
    if (record.from === null) {
      // The folder goes last: as long as it is there, whoever takes over after a crash does all of this again.
      await this.ports.kernel.takeBack(record.id, signal);
      for (const agent of record.agents) await takeTools(sandbox, agent, record.id);
      await folders.exchange(record.id, null, record.digest);
    } else await folders.exchange(record.id, await versions.read(record.id, record.from), record.digest);
    await this.#reloadQuietly(record.id, signal);
    this.ports.journal.close(record.id);
    const now = record.from === null ? 'it was removed' : `version ${record.from} is active again`;
    this.ports.report(record, `Version ${record.to} of the extension '${record.id}' failed and was taken back: ${reason}. Now ${now}.`);
  }

  /** What is in the extension's place, as a version; null: nothing is. */
  async #keepActive(id: string): Promise<Version | null> {
    const sources = await this.ports.folders.sources(id);
    if (sources === null) return null;
    const digest = digestOf(sources);
    const known = (await this.ports.versions.list(id)).findLast((version) => version.digest === digest);
    return known ?? this.ports.versions.add(id, sources, 'found');
  }

  async #before(id: string, active: number | null): Promise<number> {
    const versions = await this.ports.versions.list(id);
    const found =
      versions.findLast(({ number }) => active === null || number < active) ?? versions.findLast(({ number }) => number !== active);
    if (found) return found.number;
    throw new PithError('not_found', `'${id}' has no former version to go back to`, { cure: 'change it and activate it again' });
  }

  async #reloadQuietly(id: string, signal: AbortSignal): Promise<void> {
    await this.ports.kernel.reload(id, signal).catch((error: unknown) => {
      this.ports.context.logger.debug(`'${id}' is not loaded`, { reason: messageOf(error) }); // it was removed, which the kernel has seen by this
    });
  }
}

function reasonOf({ phase, message }: TopicMap['extension.failed']): string {
  return `${message} (in ${phase})`;
}

/** How long a version is watched after it has become active. */
export const WATCH_MS = 60_000;

/** Keeps the first thing that goes wrong with one extension. A version that is on its way out may fail to stop: that is not this one's. */
class FailureWatch {
  first: TopicMap['extension.failed'] | null = null;
  /** Stops watching. */
  readonly end: () => void;
  #report: ((failure: TopicMap['extension.failed']) => void) | null = null;

  constructor({ events }: Pick<ExtensionContext, 'events'>, id: string) {
    this.end = events.handle('extension.failed', (failure) => {
      if (failure.extensionId !== id || failure.phase === 'stop' || this.first !== null) return;
      this.first = failure;
      this.#report?.(failure);
    });
  }

  /** Calls `report` with the first failure, also when it was before. */
  onFailure(report: (failure: TopicMap['extension.failed']) => void): void {
    this.#report = report;
    if (this.first !== null) report(this.first);
  }
}
