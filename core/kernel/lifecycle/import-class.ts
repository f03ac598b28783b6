import type { z } from 'zod';
import {
  codeOf,
  type Command,
  type CommandContext,
  type Extension,
  type ExtensionContext,
  messageOf,
  type Protocol,
} from '../../contract/index.ts';
import type { Runtime } from './runtime.ts';
import type { Declaration } from '../discovery/declaration.ts';
import { Problem } from '../records/problem.ts';
import { runAs, type Owner } from '../records/stray-errors.ts';

/** The default export of an entrypoint. */
export interface ExtensionClass {
  new (context: ExtensionContext): Extension & Record<string, unknown>;
  /** Checks the extension's configuration before construction. */
  readonly config?: z.ZodType;
  /** Those of its `provides` that extensions define. */
  readonly protocols?: readonly Protocol[];
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
  runtime: Pick<Runtime, 'loader' | 'loaded'>,
  declaration: Declaration,
  generation: number,
  owner: Owner,
): Promise<ImportedClass> {
  const entry = declaration.manifest?.entrypoint;
  if (entry === undefined)
    throw new Problem('import', 'entrypoint_missing', `'${declaration.id}' has no entrypoint`, { file: declaration.file });
  const { module, shipped } = await importEntry(runtime, declaration, entry, generation, owner);
  const Class = module['default'];
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

/** The default export of a command entry: makes commands without activating their extension. */
export type CommandEntry = (context: CommandContext) => readonly Command[] | Promise<readonly Command[]>;

/** Bundles and imports a command entry into this process. Rejects with a `Problem`. */
export async function importCommands(
  runtime: Pick<Runtime, 'loader' | 'loaded' | 'owner'>,
  declaration: Declaration,
  entry: string,
): Promise<CommandEntry> {
  const owner = runtime.owner(declaration.id, 'import');
  const { module } = await importEntry(runtime, declaration, entry, 1, owner);
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
  entry: string,
  generation: number,
  owner: Owner,
) {
  const made = await loader.bundle(declaration, entry);
  loaded(declaration.id, made.shipped);
  try {
    const module = await runAs(owner, () => loader.import(made.file, generation));
    return { module, shipped: made.shipped };
  } catch (error) {
    // A package that moved since the bundle was made is found again by making it anew.
    if (codeOf(error, '') === 'ERR_MODULE_NOT_FOUND') await loader.forget(made);
    const refused = codeOf(error, '') === 'exit_refused';
    throw new Problem('import', refused ? 'exit_refused' : 'import_failed', `${entry} could not be imported: ${messageOf(error)}`, {
      cause: error,
      file: `${declaration.directory}/${entry}`,
    });
  }
}
