import { existsSync } from 'node:fs';
import path from 'node:path';
import {
  type ExtensionContext,
  type ExtensionSettings,
  type JsonValue,
  messageOf,
  PithError,
  type SettingsChange,
} from '../../contract/index.ts';
import { isGuard, loadSettingsEdit, readSettingsFile } from '../../declarations/index.ts';
import { didYouMean, slipsOf } from '@pith/plain-text';
import { callProvider, running } from './handle.ts';
import { checkKernelChanges, kernelForm, type SettingsForm } from './kernel-settings.ts';
import { byHandReason } from '../calls/by-hand.ts';
import { SECRET_USES } from '../calls/surface.ts';
import { isPlainMap } from '@pith/plain-data';
import type { ExtensionStatus } from './status.ts';
import type { Folders } from '../lifecycle/runtime.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Slot } from '../lifecycle/actor.ts';
import { askerOf, concerns, declaredPrefixes, takesNamedServers, type SecretSources, type StoredSecret } from '../../trust/index.ts';
import { runOutside } from '../records/stray-errors.ts';

/** A declared secret, without its value. */
export interface SecretStatus {
  readonly name: string;
  /** Extensions that may ask for it. */
  readonly extensions: readonly string[];
  /** null: it is not set. */
  readonly from: 'environment' | 'file' | '.env' | null;
  /** Whom the kept ones were given for; null: none is kept. */
  readonly for: readonly string[] | null;
  /** Who needs none, as a person said. */
  readonly none: readonly string[];
}

/** Settings and secrets, as a person changes them while Pith runs. */
export interface SetupPort {
  /** Checks, writes and reloads. Rejects `not_found`, `not_allowed`, `config_invalid`. */
  configure(extensionId: string, changes: SettingsChange, by?: SettingsRequester): Promise<ExtensionStatus & { readonly written: string }>;
  /** As `configure`, for settings of Pith itself; resolves the written file. */
  configurePith(changes: SettingsChange): Promise<string>;
  /** What of `settings` may be set by command. */
  pithForm(settings: object): Promise<SettingsForm>;
  /** What may be set for an extension. Rejects `not_found`, and with why it cannot be loaded. */
  form(extensionId: string): Promise<SettingsForm>;
  /** A value of each name that is kept for somebody who offers models: only to see which are there. */
  stored(): Readonly<Record<string, string>>;
  /** Every declared secret, sorted by name. */
  secrets(): readonly SecretStatus[];
  /** Who asks for this name as the settings are, and where it goes; of one extension, or of all. Loads those that declare it. */
  secretUsers(name: string, extensionId?: string): Promise<readonly string[]>;
  /** The recipient that this extension is where it sends the secret there. */
  recipient(extensionId: string, name: string, use: NonNullable<Use['use']>): string;
  /** Throws `not_declared` where no extension may ask for this name. */
  checkSecret(name: string): void;
  /**
   * Keeps a declared secret for these recipients, beside what is kept for others; an empty value: they need none. Rejects `not_declared`.
   * The extensions that declare it are reloaded, so that they use it.
   */
  setSecret(name: string, given: StoredSecret): Promise<SecretStatus>;
  /** Takes out what is kept for these recipients; null: all of it. */
  removeSecret(name: string, recipients: readonly string[] | null): Promise<SecretStatus>;
  /** Gives the only kept value to these, too. Rejects `not_found` where none is kept, `usage` where several are. */
  allowSecret(name: string, recipients: readonly string[]): Promise<SecretStatus>;
}

export function createSetupPort(
  lifecycle: Lifecycle,
  { env, stored: file, project }: SecretSources,
  { reload, refresh }: { reload(extensionId: string): Promise<ExtensionStatus>; refresh(): Promise<unknown> },
): SetupPort {
  const { secrets, places } = lifecycle.runtime;
  const port: SetupPort = {
    configure: (extensionId, changes, by = 'person') =>
      configure(lifecycle, lifecycle.slotOf(extensionId), { changes, by }, () => reload(extensionId)),
    async configurePith(changes) {
      await checkKernelChanges(changes);
      const written = await writeSettings(places, changes, 'person');
      await refresh();
      return written;
    },
    pithForm: kernelForm,
    async form(extensionId) {
      const { written, current } = lifecycle.slotOf(extensionId);
      lifecycle.refuseForeignContracts(written.declaration); // its class is imported for its schema
      const schema = await runOutside(() => lifecycle.tiers.settingsSchema(written, current?.number ?? 1));
      return { schema, values: written.config.config };
    },
    stored() {
      const offering = [...lifecycle.slots.values()].flatMap(({ declaration }) => (declaration.manifest?.models.length ? declaration : []));
      const isForModels = (recipient: string): boolean =>
        offering.some((declaration) => concerns(recipient, declaration, lifecycle.runtime.loader.isShipped(declaration)));
      const kept = Object.entries(file?.all() ?? {});
      const names = new Set(offering.flatMap(({ manifest }) => manifest?.secrets ?? []));
      const ofProject = [...names].flatMap((name) => {
        const value = file?.get(name).some(hasValue) ? null : (project?.get(name) ?? null);
        return value === null ? [] : [[name, value]];
      });
      return Object.fromEntries([
        ...ofProject,
        ...kept.flatMap(([name, each]) =>
          each.filter((secret) => hasValue(secret) && secret.for.some(isForModels)).map(({ value }) => [name, value]),
        ),
      ]);
    },
    secrets() {
      const users = new Map<string, string[]>();
      for (const { id, config } of lifecycle.slots.values())
        for (const name of config.secrets) users.set(name, [...(users.get(name) ?? []), id]);
      return [...users]
        .map(([name, extensions]): SecretStatus => {
          const kept = file?.get(name) ?? [];
          const values = kept.filter(hasValue);
          const from = env[name] ? 'environment' : values.length > 0 ? 'file' : project?.get(name) ? '.env' : null;
          const recipients = values.length === 0 ? null : values.flatMap((each) => each.for);
          return {
            name,
            extensions: extensions.sort(),
            from,
            for: recipients,
            none: kept.flatMap((each) => (hasValue(each) ? [] : each.for)),
          };
        })
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    async secretUsers(name, extensionId) {
      const askers = [...lifecycle.slots.values()].filter(
        ({ id, config }) => config.enabled && config.secrets.includes(name) && (extensionId ?? id) === id,
      );
      return [...new Set((await Promise.all(askers.map((slot) => usesOf(lifecycle, slot, name)))).flat())];
    },
    recipient(extensionId, name, use) {
      const { declaration } = lifecycle.slotOf(extensionId);
      return askerOf(declaration, lifecycle.runtime.loader.isShipped(declaration), name, use).recipient;
    },
    checkSecret: (name) => void declaredSecret(name),
    async allowSecret(name, recipients) {
      const [kept, ...others] = file?.get(name).filter(hasValue) ?? [];
      if (kept === undefined) throw new PithError('not_found', `no secret '${name}' is kept`, { cure: `run: pith secrets set ${name}` });
      if (others.length === 0) return port.setSecret(name, { ...kept, for: recipients });
      throw new PithError('usage', `${others.length + 1} values of '${name}' are kept: it is not known which one is meant`, {
        cure: `give the value itself: pith secrets set ${name} --for RECIPIENT`,
      });
    },
    async setSecret(name, given) {
      const found = declaredSecret(name);
      if (file === undefined)
        throw new PithError('settings_invalid', 'secrets cannot be kept: this Pith has no home folder', {
          cure: `set ${name} in the environment`,
        });
      if (/^PITH_MASTER_KEY(?:_OLD)?$/u.test(name) && !isKey(given.value))
        throw new PithError('usage', `${name} is 32 bytes, as 64 hex digits or in base64, and this is not`, {
          cure: 'nothing was stored; make one with: openssl rand -base64 32',
        });
      file.keep(name, given);
      return renewed(found);
    },
    async removeSecret(name, recipients) {
      const found = declaredSecret(name);
      file?.remove(name, recipients);
      return renewed(found);
    },
  };

  function declaredSecret(name: string): SecretStatus {
    const known = port.secrets();
    const found = known.find((secret) => secret.name === name);
    if (found !== undefined) return found;
    const waiting = [...lifecycle.slots.values()].find(({ declaration: { withheld = [] } }) =>
      withheld.some(({ ask }) => ask === `secret ${name}`),
    );
    if (waiting !== undefined)
      throw new PithError('not_declared', `'${waiting.id}' asks for the secret '${name}', and nobody has agreed to that yet`, {
        cure: `look at what it asks for, then run: pith extensions allow ${waiting.id}`,
      });
    const names = known.map((each) => each.name);
    throw new PithError('not_declared', `no extension asks for a secret '${name}'${didYouMean(name, names)}`, {
      cure: 'see: pith secrets list',
    });
  }

  async function renewed(found: SecretStatus): Promise<SecretStatus> {
    secrets.declare([found.name]);
    for (const id of found.extensions) if (lifecycle.slots.get(id)?.current) await reload(id);
    return port.secrets().find(({ name }) => name === found.name) ?? found;
  }

  return port;
}

function hasValue({ value }: StoredSecret): boolean {
  return value !== '';
}

function isKey(text: string): boolean {
  return /^[0-9a-f]{64}$/iu.test(text.trim()) || /^[A-Za-z0-9+/_-]{43}=?$/u.test(text.trim());
}

/** What extensions of the kernel's process reach of it. */
export function settingsOf(port: SetupPort, statuses: () => readonly ExtensionStatus[]): ExtensionSettings {
  return {
    list: async () =>
      statuses().map(({ id, state, provides, manifest, phase, code = '', message = '', file, line, cure }) => ({
        id,
        name: manifest?.name ?? id,
        description: manifest?.description ?? '',
        state,
        provides,
        finding: phase === 'reload' || state === 'failed' ? { severity: 'error', code, message, file, line, cure } : null,
      })),
    write: async (id, changes, by) => (await port.configure(id, changes, by)).written,
    async keepSecret(id, name, value, use) {
      const users = use === undefined ? await port.secretUsers(name, id) : [port.recipient(id, name, use)];
      await port.setSecret(name, { value, for: users.length > 0 ? users : [`extension:${id}`] });
    },
  };
}

/** Who of an extension asks for this name: the extension itself where it does not say more. Nobody while it cannot run: then nobody knows. */
async function usesOf(lifecycle: Lifecycle, { id, declaration }: Slot, name: string): Promise<readonly string[]> {
  const shipped = lifecycle.runtime.loader.isShipped(declaration);
  try {
    const { surface } = await running(lifecycle, id);
    const uses = surface.operations.has(SECRET_USES)
      ? ((await callProvider(lifecycle, id, SECRET_USES, [])) as readonly Use[])
      : [{ name }];
    return uses.filter((each) => each.name === name).map(({ use }) => askerOf(declaration, shipped, name, use).recipient);
  } catch (error) {
    lifecycle.runtime.logger('secrets').warn('an extension does not say where its secrets go', { id, reason: messageOf(error) });
    return [];
  }
}

type Use = { readonly name: string; readonly use?: NonNullable<Parameters<ExtensionContext['getSecret']>[1]> };

/**
 * Whose words the changes are: a person's who is asked for them, a command line's or a request's, or those of an agent, which a person has
 * only agreed to.
 */
type SettingsRequester = 'person' | 'command' | 'agent';

/** Names in lists called `env` are secrets that the extension may ask for. */
function namesVariables(key: string, value: JsonValue): boolean {
  if (key === 'env' && Array.isArray(value)) return value.length > 0;
  return isPlainMap(value) && Object.entries(value).some(([name, each]) => namesVariables(name, each as JsonValue));
}

/** What grants something; only a person writes it. The rest of them also goes by `pith setup`. */
const RIGHTS = ['isolation', 'enabled', 'secrets'];
const RIGHTS_BESIDE = ['memory_mb', 'permissions'];
/** Of what offers models: who is given the key, and which. */
const RIGHTS_OF_MODELS = ['providers', 'base_url', 'api_key_env'];

/**
 * Changes settings of one extension: checks the paths and, by the schema of its class, the values; writes `pith.yaml`; reloads.
 * Rejects `not_allowed` for settings of others and `config_invalid` with the path for what the schema refuses; nothing is written then. What
 * fails with settings that the schema takes goes on with the former ones, as with any reload.
 */
async function configure(
  lifecycle: Lifecycle,
  slot: Slot,
  { changes, by }: { readonly changes: SettingsChange; readonly by: SettingsRequester },
  reload: () => Promise<ExtensionStatus>,
): Promise<ExtensionStatus & { readonly written: string }> {
  for (const [dotted, value] of Object.entries(changes))
    checkPath(slot, dotted, value, { by, isNamedServer: isNamedServer(lifecycle, slot, dotted) });
  const { runtime, tiers } = lifecycle;
  const { declaration } = slot.written;
  lifecycle.refuseForeignContracts(declaration); // its class is imported for the checks
  if (by !== 'person') await refuseByHand(lifecycle, slot, changes);
  const config = runtime.rights.configOf(declaration, changes);
  await runOutside(() => tiers.checkSettings({ declaration, config }, slot.current?.number ?? 1));
  const written = await writeSettings(runtime.places, changes, by);
  return { ...(await reload()), written };
}

/** Throws `not_allowed` for what the extension's own schema keeps for a person who edits the file. */
async function refuseByHand({ tiers }: Lifecycle, { id, written, current }: Slot, changes: SettingsChange): Promise<void> {
  const schema = await runOutside(() => tiers.settingsSchema(written, current?.number ?? 1));
  for (const [dotted, value] of Object.entries(changes)) {
    const reason = byHandReason(schema, dotted.split('.').slice(OWN_DEPTH), value);
    if (reason === null) continue;
    throw new PithError('not_allowed', `'${dotted}' cannot be set by command for '${id}': it ${reason}`, { cure: BY_HAND });
  }
}

/** `extensions.ID` before an extension's own keys. */
const OWN_DEPTH = 2;
const BY_HAND = 'write it into pith.yaml by hand';

/** Resolves the written file. */
async function writeSettings(places: Folders, changes: SettingsChange, by: SettingsRequester): Promise<string> {
  const written = settingsFile(places, by);
  await refuseSetBelow(places, written, changes);
  (await loadSettingsEdit()).editSettingsFile(written, changes);
  return written;
}

/** Where a person has no sandbox of their own, their settings count for all their projects. */
function settingsFile({ sandbox, home = null, isBare = false }: Folders, by: SettingsRequester): string {
  const own = path.join(sandbox, 'pith.yaml');
  return isBare && home !== null && by !== 'agent' && !existsSync(own) ? path.join(home, '.pith', 'config.yaml') : own;
}

/** What is taken out of the sandbox's settings goes on counting where the person's own say it, too: a key would be kept for that address. */
async function refuseSetBelow({ home = null }: Folders, written: string, changes: SettingsChange): Promise<void> {
  const below = home === null ? written : path.join(home, '.pith', 'config.yaml');
  const positions = below === written ? {} : (await readSettingsFile(below))?.positions;
  for (const [dotted, value] of Object.entries(changes)) {
    const [line] = positions?.[dotted] ?? [];
    if (value !== null || line === undefined) continue;
    const message = `'${dotted}' cannot be taken out: ~/.pith/config.yaml:${line} sets it for all your projects`;
    throw new PithError('config_invalid', message, { cure: 'take it out there first' });
  }
}

/** Whether it is below `providers.` under a name that no manifest declares, which this extension takes. */
function isNamedServer({ slots, runtime }: Lifecycle, { declaration }: Slot, dotted: string): boolean {
  const [, prefix] = /^providers\.([a-z][a-z0-9_-]*)\./u.exec(dotted) ?? [];
  if (prefix === undefined) return false;
  const declared = declaredPrefixes([...slots.values()].map((slot) => slot.declaration));
  return takesNamedServers({ ...declaration, shipped: runtime.loader.isShipped(declaration) }) && !declared.has(prefix);
}

/**
 * What may be set: the extension's own block, and for a person what belongs to the models that it offers. An address or the name of a key
 * says who reads a secret, so that no agent sets it.
 */
function checkPath(
  { id, declaration }: Slot,
  dotted: string,
  value: JsonValue,
  { by, isNamedServer }: { readonly by: SettingsRequester; readonly isNamedServer: boolean },
): void {
  const models = declaration.manifest?.models ?? [];
  const named = isNamedServer ? [`${dotted.split('.').slice(0, 2).join('.')}.`] : [];
  const offered = [...models.map(({ prefix }) => `providers.${prefix}.`), ...named, ...(models.length > 0 ? ['models.'] : [])];
  const own = [`extensions.${id}.`, ...(by === 'person' ? offered : [])];
  const rights = [
    ...RIGHTS,
    ...(by === 'agent' ? RIGHTS_BESIDE : []),
    ...(by === 'agent' && models.length > 0 ? RIGHTS_OF_MODELS : []),
  ].map((key) => `extensions.${id}.${key}`);
  const isGranted = by === 'agent' && offered.some((prefix) => dotted.startsWith(prefix));
  const [, , key = ''] = dotted.split('.');
  const isSlip = !(key in (declaration.manifest?.config ?? {})) && slipsOf(key, RIGHTS, 2).length > 0; // it would count as one
  const isRight =
    isGranted ||
    (by === 'agent' && isGuard(declaration)) || // it may keep that agent from something
    isSlip ||
    rights.some((right) => dotted === right || dotted.startsWith(`${right}.`)) ||
    /(?:^|\.)env\.\d+$/u.test(dotted) ||
    namesVariables(dotted.split('.').at(-1) ?? '', value);
  if (
    own.some((prefix) => dotted.startsWith(prefix) && dotted.length > prefix.length) &&
    !isRight &&
    !/(?:^|\.)(?:__proto__|$)/u.test(dotted)
  )
    return;
  const message = `'${dotted}' cannot be set for '${id}': ${isRight ? 'only a person grants it, by hand' : 'it belongs to something else'}`;
  throw new PithError('not_allowed', message, { cure: isGranted ? `a person can: pith setup ${id}` : BY_HAND });
}
