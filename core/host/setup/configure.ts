import path from 'node:path';
import { PithError } from '../../contract/errors.ts';
import type { SettingsChange } from '../../contract/index.ts';
import type { ExtensionStatus } from '../host-options.ts';
import { checkSettings } from '../lifecycle/tier.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Slot } from '../lifecycle/slot.ts';
import { runOutside } from '../stray-errors.ts';

/** Whose words the changes are: a person's, or those of an agent, which a person has only agreed to. */
export type SettingsWish = 'person' | 'agent';

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
export async function configure(
  lifecycle: Lifecycle,
  slot: Slot,
  changes: SettingsChange,
  wish: SettingsWish,
  reload: () => Promise<ExtensionStatus>,
): Promise<ExtensionStatus> {
  for (const dotted of Object.keys(changes)) checkPath(slot, dotted, wish);
  const { parts } = lifecycle;
  const { declaration } = slot.written;
  const config = parts.options.configOf(declaration, changes);
  await runOutside(() => checkSettings(parts, { declaration, config }, slot.current?.number ?? 1));
  const { editSettingsFile } = await import('./settings-edit.ts');
  editSettingsFile(path.join(parts.options.sandbox, 'pith.yaml'), changes);
  return reload();
}

/**
 * What may be set: the extension's own block, and for a person what belongs to the models that it offers. An address or the name of a key
 * says who reads a secret, so that no agent sets it.
 */
function checkPath({ id, declaration }: Slot, dotted: string, wish: SettingsWish): void {
  const models = declaration.manifest?.models ?? [];
  const offered = [...models.map(({ prefix }) => `providers.${prefix}.`), ...(models.length > 0 ? ['models.'] : [])];
  const own = [`extensions.${id}.`, ...(wish === 'person' ? offered : [])];
  const rights = [
    ...RIGHTS,
    ...(wish === 'person' ? [] : RIGHTS_BESIDE),
    ...(wish === 'agent' && models.length > 0 ? RIGHTS_OF_MODELS : []),
  ].map((key) => `extensions.${id}.${key}`);
  const isGranted = wish === 'agent' && offered.some((prefix) => dotted.startsWith(prefix));
  const isRight = isGranted || rights.some((right) => dotted === right || dotted.startsWith(`${right}.`));
  if (
    own.some((prefix) => dotted.startsWith(prefix) && dotted.length > prefix.length) &&
    !isRight &&
    !/(?:^|\.)(?:__proto__|$)/u.test(dotted)
  )
    return;
  throw new PithError(
    'not_allowed',
    `'${dotted}' cannot be set for '${id}': ${isRight ? 'only a person grants it' : 'it belongs to something else'}`,
    {
      cure: isGranted ? `a person can: pith setup ${id}` : 'write it into pith.yaml by hand',
    },
  );
}
