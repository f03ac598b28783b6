import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Places } from 'pith';
import { yamlValue } from '@pith/guarded-yaml';

type Block = Readonly<Record<string, unknown>>;
type Homes = Pick<Places, 'sandbox' | 'home'>;

/** The blocks of `extensions` in the person's settings and in those of the sandbox, which hold. */
export async function extensionSettings(places: Homes): Promise<Readonly<Record<string, Block>>> {
  const merged: Record<string, Block> = {};
  for (const settings of await settingsOf(places))
    for (const [id, block] of Object.entries(blockOf(settings['extensions']))) merged[id] = { ...merged[id], ...blockOf(block) };
  return merged;
}

/** Whether settings say that nothing confines the processes of extensions. Those of a sandbox may have changed since it was trusted: without it, only the person's own count. */
export async function wantsNoSandbox(places: Partial<Homes>): Promise<boolean> {
  return (await settingsOf(places)).findLast(({ extensions_sandbox: wanted }) => wanted !== undefined)?.['extensions_sandbox'] === 'off';
}

async function settingsOf({ sandbox, home }: Partial<Homes>): Promise<readonly Block[]> {
  const files = [...(home ? [join(home, '.pith', 'config.yaml')] : []), ...(sandbox === undefined ? [] : [join(sandbox, 'pith.yaml')])];
  return Promise.all(
    files.map(async (file) => {
      try {
        return blockOf(yamlValue(await readFile(file, 'utf8')));
      } catch {
        return {}; // not there, or the kernel says what is wrong with it
      }
    }),
  );
}

function blockOf(value: unknown): Block {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Block) : {};
}
