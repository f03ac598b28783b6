import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { codeOf, messageOf } from '../../contract/errors.ts';
import { offerContract } from '../bundles/contract-offer.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { HostParts } from '../host-parts.ts';
import { Problem } from '../problem.ts';
import { runAs, type Owner } from '../stray-errors.ts';

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
async function load(file: string, generation: number): Promise<unknown> {
  if (file.endsWith('.cjs')) {
    const require = createRequire(file);
    if (generation > 1) delete require.cache[file];
    return require(file);
  }
  const url = pathToFileURL(file).href;
  const { importModule } = await import('./import-module.ts');
  return importModule(generation > 1 ? `${url}?generation=${generation}` : url);
}
