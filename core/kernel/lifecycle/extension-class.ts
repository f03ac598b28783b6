import type { z } from 'zod';
import { codeOf, type Command, type CommandContext, type Extension, type ExtensionContext, messageOf } from '../../contract/index.ts';
import type { Runtime } from './runtime.ts';
import { CONTRACT_FILE, type Declaration, isContractOnly } from '../../declarations/index.ts';
import { Problem } from '../records/failures.ts';
import { runAs, type Owner } from '../records/stray-errors.ts';

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

/** Bundles and imports an extension's entrypoint; of one that has only a contract the class is empty. A higher `generation` is evaluated afresh. Throws a `Problem`. */
export async function importClass(
  runtime: Pick<Runtime, 'loader' | 'loaded'>,
  declaration: Declaration,
  generation: number,
  owner: Owner,
): Promise<ImportedClass> {
  const entry = declaration.manifest?.entrypoint;
  if (isContractOnly(declaration)) {
    // Nobody runs it; what is wrong with it is to be said of it, and not only of those that import it.
    if (declaration.contract) await runtime.loader.bundle(declaration, CONTRACT_FILE);
    return { Class: WithoutCode, shipped: declaration.shipped };
  }
  if (entry === undefined)
    throw new Problem('import', 'entrypoint_missing', `'${declaration.id}' has no entrypoint`, { file: declaration.file });
  const { module, shipped } = await importEntry(runtime, declaration, { entry, generation }, owner);
  const Class = module['default'];
  if (!isClass(Class)) {
    throw new Problem('import', 'import_failed', `${entry} has no class as its default export`, {
      file: declaration.file,
      cure: `write 'export default class …' in ${entry}`,
    });
  }
  return { Class, shipped };
}

class WithoutCode implements Extension {
  [member: string]: unknown;
}

function isClass(value: unknown): value is ExtensionClass {
  return typeof value === 'function' && typeof value.prototype === 'object';
}

/** The default export of a command entry: makes commands without activating their extension. */
export type CommandEntry = (context: CommandContext) => readonly Command[] | Promise<readonly Command[]>;

/** Bundles and imports a command entry into this process. Rejects with a `Problem`. */
export async function importCommands(
  runtime: Pick<Runtime, 'loader' | 'loaded' | 'owner'>,
  declaration: Declaration,
  entry: string,
): Promise<CommandEntry> {
  const owner = runtime.owner(declaration.id, 'import');
  const { module } = await importEntry(runtime, declaration, { entry, generation: 1 }, owner);
  const make = module['default'];
  if (typeof make !== 'function')
    throw new Problem('import', 'import_failed', `${entry} has no function as its default export`, {
      file: `${declaration.directory}/${entry}`,
      cure: 'export default (context) => [commands]',
    });
  return async (context) => runAs(owner, () => (make as CommandEntry)(context));
}

/** Bundles and imports one entry of an extension. Throws a `Problem`. */
async function importEntry(
  { loader, loaded }: Pick<Runtime, 'loader' | 'loaded'>,
  declaration: Declaration,
  { entry, generation }: { readonly entry: string; readonly generation: number },
  owner: Owner,
) {
  const made = await loader.bundle(declaration, entry);
  loaded(declaration.id, made.shipped);
  try {
    const module = await runAs(owner, () => loader.import(made.file, generation));
    return { module, shipped: made.shipped };
  } catch (error) {
    // A package that moved since the bundle was made is found by making the bundle again.
    if (codeOf(error, '') === 'ERR_MODULE_NOT_FOUND' || error instanceof SyntaxError) await loader.forget(made); // it may be damaged
    const refused = codeOf(error, '') === 'exit_refused';
    throw new Problem('import', refused ? 'exit_refused' : 'import_failed', `${entry} could not be imported: ${messageOf(error)}`, {
      cause: error,
      file: `${declaration.directory}/${entry}`,
    });
  }
}
