import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { z } from 'zod';
import type { Extension, ExtensionContext } from '../../contract/index.ts';
import { codeOf, messageOf } from '../../contract/errors.ts';
import type { HostParts } from '../host-parts.ts';
import { offerContract } from '../bundles/contract-offer.ts';
import type { Declaration } from '../discovery/declaration.ts';
import { Problem } from '../problem.ts';
import { toolsetClass } from '../toolsets/toolset-class.ts';
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

/** Bundles and imports one entry of an extension. Throws a `Problem`. */
export async function importEntry(
  { bundles, loaded }: Pick<HostParts, 'bundles' | 'loaded'>,
  declaration: Declaration,
  entry: string,
  generation: number,
  owner: Owner,
) {
  const made = await bundles.bundle(declaration, entry);
  loaded(declaration.id, made.shipped);
  const offer = await offerContract(made);
  try {
    offer();
    const module = (await runAs(owner, () => load(made.file, generation))) as Readonly<Record<string, unknown>>;
    return { module, shipped: made.shipped };
  } catch (error) {
    // A package that moved since the bundle was made is found again by making it anew.
    if (codeOf(error, '') === 'ERR_MODULE_NOT_FOUND') await bundles.forget(made);
    const refused = codeOf(error, '') === 'exit_refused';
    throw new Problem('import', refused ? 'exit_refused' : 'import_failed', `${entry} could not be imported: ${messageOf(error)}`, {
      cause: error,
      file: `${declaration.directory}/${entry}`,
    });
  }
}

/** Shipped bundles are CommonJS, others ES modules. */
function load(file: string, generation: number): unknown {
  if (file.endsWith('.cjs')) {
    const require = createRequire(file);
    if (generation > 1) delete require.cache[file];
    return require(file);
  }
  const url = pathToFileURL(file).href;
  return import(generation > 1 ? `${url}?generation=${generation}` : url);
}

function isClass(value: unknown): value is ExtensionClass {
  return typeof value === 'function' && typeof value.prototype === 'object';
}
