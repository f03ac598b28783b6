import type { z } from 'zod';
import type { Extension, ExtensionContext } from '../../contract/index.ts';
import type { HostParts } from '../host-parts.ts';
import type { Declaration } from '../discovery/declaration.ts';
import { Problem } from '../problem.ts';
import { toolsetClass } from '../toolsets/toolset-class.ts';
import { importEntry } from './import-entry.ts';
import { runAs, type Owner } from '../stray-errors.ts';

/** The default export of an entrypoint. */
export interface ExtensionClass {
  new (context: ExtensionContext): Extension & Record<string, unknown>;
  /** Checks the extension's configuration before construction. */
  readonly config?: z.ZodType;
  /** Checks the keys under `agent:` that the manifest's `agent_keys` claims. */
  readonly agentKeys?: Readonly<Record<string, z.ZodType>>;
  /** What `pith doctor` should say of this configuration. The code `unconfined` is shown in red. */
  readonly settingsNotes?: (config: Readonly<Record<string, unknown>>) => readonly { readonly code: string; readonly message: string }[];
}

export interface ImportedClass {
  readonly Class: ExtensionClass;
  readonly shipped: boolean;
}

/** Bundles and imports an extension's entrypoint. A higher `generation` is evaluated afresh. Throws a `Problem`. */
export async function importClass(
  parts: Pick<HostParts, 'bundles' | 'loaded' | 'clock' | 'note'>,
  declaration: Declaration,
  generation: number,
  owner: Owner,
): Promise<ImportedClass> {
  const entry = declaration.manifest?.entrypoint;
  if (entry === undefined)
    throw new Problem('import', 'entrypoint_missing', `'${declaration.id}' has no entrypoint`, { file: declaration.file });
  const { module, shipped } = await importEntry(parts, declaration, entry, generation, owner);
  const Class = declaration.toolset ? await runAs(owner, () => toolsetClass(module, { ...parts, declaration })) : module['default'];
  if (!isClass(Class)) {
    throw new Problem('import', 'import_failed', `${entry} has no class as its default export`, {
      file: declaration.file,
      cure: `write 'export default class …' in ${entry}`,
    });
  }
  return { Class, shipped };
}

function isClass(value: unknown): value is ExtensionClass {
  return typeof value === 'function' && typeof value.prototype === 'object';
}
