import path from 'node:path';
import { PithError } from '../../contract/errors.ts';
import type { SettingsChange } from '../../contract/index.ts';
import type { ExtensionStatus } from '../host-options.ts';
import { close } from '../lifecycle/generation.ts';
import { construct } from '../lifecycle/tier.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Slot } from '../lifecycle/slot.ts';
import { runOutside } from '../stray-errors.ts';

/**
 * Changes settings of one extension: checks the paths and, by making a version of it with them, the values; writes `pith.yaml`; reloads.
 * Rejects `not_allowed` for settings of others and `config_invalid` with the path for what the extension refuses; nothing is written then.
 */
export async function configure(
  lifecycle: Lifecycle,
  slot: Slot,
  changes: SettingsChange,
  reload: () => Promise<ExtensionStatus>,
): Promise<ExtensionStatus> {
  for (const dotted of Object.keys(changes)) checkPath(slot, dotted);
  await runOutside(() => tryOut(lifecycle, slot, changes));
  const { editSettingsFile } = await import('./settings-edit.ts');
  editSettingsFile(path.join(lifecycle.parts.options.sandbox, 'pith.yaml'), changes);
  return reload();
}

/** What an extension may ask to be set: its own block, and what belongs to the models that it offers. */
function checkPath({ id, declaration }: Slot, dotted: string): void {
  const models = declaration.manifest?.models ?? [];
  const own = [`extensions.${id}.`, ...models.map(({ prefix }) => `providers.${prefix}.`), ...(models.length > 0 ? ['models.'] : [])];
  const rights = ['isolation', 'enabled', 'secrets'].map((key) => `extensions.${id}.${key}`);
  const isRight = rights.some((right) => dotted === right || dotted.startsWith(`${right}.`));
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
      cure: 'write it into pith.yaml by hand',
    },
  );
}

async function tryOut({ parts }: Lifecycle, slot: Slot, changes: SettingsChange): Promise<void> {
  const { options } = parts;
  const configOf = (declaration: Slot['declaration']) => options.configOf(declaration, declaration.id === slot.id ? changes : undefined);
  const candidate = await construct({ ...parts, options: { ...options, configOf } }, slot.declaration, ++slot.generations);
  await close(await candidate.initialize(), 0);
}
