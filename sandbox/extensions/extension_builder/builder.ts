import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, PithError, Places, SkillProvider, type ExtensionContext, type ToolCall } from 'pith';
import { createConfinedPrograms } from '@pith/supervised-process';
import { once } from '@pith/promises';
import { isNothingThere, stateFolder, type StateFolder } from '@pith/safe-files';
import { checkExtension, type CheckedFolder } from './check/check-extension.ts';
import { checkOf, type Check } from './finding.ts';
import { KernelPort } from './kernel-port.ts';
import { wantsNoSandbox } from './trial/trial.ts';
import { activeFolder } from './places.ts';
import { Staging } from './staging.ts';
import { Activation, type Asker } from './versions/activation.ts';
import { ExtensionFolders } from './versions/extension-folders.ts';
import { SwitchJournal, type Switch, VersionStore } from './versions/version-store.ts';

/** The parts of the builder over one sandbox. */
export class Builder {
  readonly staging: Staging;
  readonly kernel: KernelPort;
  readonly versions: VersionStore;
  readonly folders: ExtensionFolders;
  readonly activation: Activation;
  readonly places: Places;
  /** Runs programs that end with this extension. */
  readonly programs = once(() => {
    const programs = createConfinedPrograms();
    this.context.own(() => programs.close());
    return programs;
  });

  constructor(readonly context: ExtensionContext) {
    this.places = context.use(Places);
    this.staging = new Staging(context, this.sandbox);
    this.kernel = new KernelPort(context);
    this.versions = new VersionStore(() => stateFolder(context.dataDirectory, 'versions'), context.clock);
    this.folders = new ExtensionFolders(this.sandbox, stateFolder(context.dataDirectory, 'exchanges'));
    this.activation = new Activation({
      context,
      sandbox: this.sandbox,
      kernel: this.kernel,
      versions: this.versions,
      folders: this.folders,
      journal: new SwitchJournal(() => stateFolder(context.dataDirectory, 'switches')),
      report: (record, text) => this.#report(record, text),
    });
    context.own(() => this.activation.close());
  }

  /** A folder that may be written, of what can be made again. */
  get cache(): StateFolder {
    return stateFolder(this.context.dataDirectory, 'cache');
  }

  get sandbox(): string {
    return this.places.sandbox;
  }

  checkExtension(folder: string, signal: AbortSignal): Promise<CheckedFolder> {
    return checkExtension(folder, this, signal);
  }

  /** Why no sandbox confines code that an extension brings, as the end of a sentence; null: bubblewrap does. */
  async unconfined(): Promise<string | null> {
    if (await wantsNoSandbox(this.places)) return 'the settings say extensions_sandbox: off';
    return (await this.programs().unavailable())?.why ?? null;
  }

  /** Lint and scan, by whoever provides skills. */
  async checkSkill(id: string, signal: AbortSignal): Promise<Check> {
    await this.staging.sources('skills', id);
    const [skills] = this.context.find(SkillProvider);
    if (skills === undefined)
      throw new PithError('provider_unavailable', 'nothing provides skills here', { cure: 'switch skill_registry on' });
    return checkOf('skill', await skills.validateSkill(this.staging.folder('skills', id), signal));
  }

  /** Folders of the extensions that are in this sandbox, sorted. */
  async extensionFolders(): Promise<readonly string[]> {
    const base = join(this.sandbox, 'extensions');
    const entries = await readdir(base, { withFileTypes: true }).catch((error: unknown) => {
      if (!isNothingThere(error)) throw error;
      return []; // a sandbox without extensions has no such folder
    });
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => join(base, name))
      .sort();
  }

  /** The folder that an extension is loaded from, or would be. */
  async folderOf(id: string, signal: AbortSignal): Promise<string> {
    return (await this.kernel.show(id, signal))?.directory ?? activeFolder(this.sandbox, 'extensions', id);
  }

  async watchOver(signal: AbortSignal): Promise<void> {
    await this.activation.recover(signal);
    if (!signal.aborted) await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
  }

  #report(record: Switch, text: string): void {
    const { id, threadId, userId, correlationId } = record;
    this.context.logger.warn(text, { extensionId: id, threadId, correlationId });
    const about = { kind: 'extension', id };
    const notice = { v: 1, text, kind: 'warning', about, target: null, threadId, userId } as const;
    void this.context.events.publish('notify', notice, { key: id, correlationId }).catch((error: unknown) => {
      this.context.logger.warn('people could not be notified', { reason: messageOf(error) });
    });
  }
}

export function askerOf({ turn }: Pick<ToolCall, 'turn'>): Asker {
  return { by: turn.agent.id, threadId: turn.threadId, userId: turn.userId, correlationId: turn.correlationId };
}
