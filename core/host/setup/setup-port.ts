import { PithError } from '../../contract/errors.ts';
import type { Remote, SettingsChange } from '../../contract/index.ts';
import { didYouMean } from '../../contract/nearest.ts';
import { SetupProvider } from '../../contract/protocols/setup-provider.ts';
import { remoteOf } from '../calls/handle.ts';
import type { ExtensionStatus } from '../host-options.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Slot } from '../lifecycle/slot.ts';
import { configure, type SettingsWish } from './configure.ts';

/** A declared secret, without its value. */
export interface SecretStatus {
  readonly name: string;
  /** Extensions that may ask for it. */
  readonly extensions: readonly string[];
  /** null: it is not set. */
  readonly from: 'environment' | 'file' | null;
}

/** Settings and secrets, as a person changes them while Pith runs. */
export interface SetupPort {
  /** null: it cannot be set up. */
  provider(extensionId: string): Remote<SetupProvider> | null;
  /** Checks, writes and reloads. Rejects `not_found`, `not_allowed`, `config_invalid`. */
  configure(extensionId: string, changes: SettingsChange, wish?: SettingsWish): Promise<ExtensionStatus>;
  /** Values that are kept, by name: only to see which are there. */
  stored(): Readonly<Record<string, string>>;
  /** Every declared secret, sorted by name. */
  secrets(): readonly SecretStatus[];
  /** Keeps a declared secret; null takes it out. Rejects `not_declared`. The extensions that declare it are reloaded, so that they use it. */
  setSecret(name: string, value: string | null): Promise<SecretStatus>;
}

export function createSetupPort(lifecycle: Lifecycle, reload: (extensionId: string) => Promise<ExtensionStatus>): SetupPort {
  const { options, secrets } = lifecycle.parts;
  const slotOf = (extensionId: string): Slot => {
    const slot = lifecycle.slots.get(extensionId);
    if (slot) return slot;
    throw new PithError(
      'not_found',
      `no extension '${extensionId}': nothing declares it${didYouMean(extensionId, lifecycle.slots.keys())}`,
      {
        cure: 'see: pith extensions list',
      },
    );
  };
  const port: SetupPort = {
    provider: (extensionId) =>
      slotOf(extensionId).declaration.manifest?.provides.includes('setup') ? remoteOf(lifecycle, extensionId, SetupProvider) : null,
    configure: (extensionId, changes, wish = 'person') =>
      configure(lifecycle, slotOf(extensionId), changes, wish, () => reload(extensionId)),
    stored: () => options.storedSecrets?.all() ?? {},
    secrets() {
      const users = new Map<string, string[]>();
      for (const { id, config } of lifecycle.slots.values())
        for (const name of config.secrets) users.set(name, [...(users.get(name) ?? []), id]);
      return [...users]
        .map(([name, extensions]): SecretStatus => {
          const stored = options.storedSecrets?.get(name) ? 'file' : null;
          return { name, extensions: extensions.sort(), from: options.env[name] ? 'environment' : stored };
        })
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    async setSecret(name, value) {
      const known = port.secrets();
      const found = known.find((secret) => secret.name === name);
      if (found === undefined)
        throw new PithError(
          'not_declared',
          `no extension asks for a secret '${name}'${didYouMean(
            name,
            known.map((each) => each.name),
          )}`,
          {
            cure: 'see: pith secrets list',
          },
        );
      if (options.storedSecrets === undefined)
        throw new PithError('settings_invalid', 'secrets cannot be kept: this Pith knows no home folder', {
          cure: `set ${name} in the environment`,
        });
      options.storedSecrets.set(name, value);
      secrets.declare([name]);
      for (const id of found.extensions) if (lifecycle.slots.get(id)?.current) await reload(id);
      return port.secrets().find((secret) => secret.name === name) ?? found;
    },
  };
  return port;
}
