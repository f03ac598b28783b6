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
import { CONTRACT_FILE, type Declaration, handlerNames, interfaceOf, isContractOnly, KERNEL_PROTOCOLS } from '../../declarations/index.ts';
import { Problem } from '../records/failures.ts';
import { runAs, type Owner } from '../records/stray-errors.ts';
import type { Manifest } from '../../trust/index.ts';
import { didYouMean, slipsOf } from '@pith/plain-text';
import type { Implementation } from '../calls/surface.ts';

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

/**
 * What a manifest provides: the kernel's protocols by `instance`, those that extensions define by what was given for them.
 * Throws `provides_mismatch` where one is not given, is not what the manifest of its extension says, or lacks a member.
 */
export function implementationsOf(
  instance: object,
  given: ReadonlyMap<string, Implementation>,
  { manifest, file, contract, imports }: Declaration,
): readonly Implementation[] {
  const mismatch = (message: string, cure: string): Problem => new Problem('construct', 'provides_mismatch', message, { file, cure });
  const provided = (manifest?.provides ?? []).map((id): Implementation => {
    const own = KERNEL_PROTOCOLS.get(id);
    if (own) return { protocol: own, on: instance };
    const found = given.get(id);
    if (!found)
      throw mismatch(
        `the manifest provides '${id}', which the constructor of the class does not`,
        'import the protocol from the contract that defines it, and call context.provide(protocol, implementation) in the constructor',
      );
    const defined = manifest?.defines.protocols[id] ?? imports?.protocols[id]?.members ?? [];
    const lacking = defined.filter((name) => !(name in found.protocol.members));
    if (lacking.length === 0) return found;
    throw mismatch(
      `the protocol '${id}' lacks ${lacking.join(', ')}, which its manifest defines`,
      "make the contract and 'defines.protocols' of the extension that defines it agree",
    );
  });
  const lacking = provided.flatMap(({ protocol, on }) => {
    const by = imports?.protocols[protocol.id]?.by;
    const own = interfaceOf(protocol.id);
    const place = own === undefined ? (by === undefined ? contract : imports?.contracts[by])?.file : `${own} in 'pith'`;
    const what = on === instance ? 'the class' : `what it provides as '${protocol.id}'`;
    return describeMissing(protocol, on).map((each) => `${what} ${each}${place === undefined ? '' : `, see ${place}`}`);
  });
  if (lacking.length === 0) return provided;
  throw mismatch(lacking.join('; '), "implement it, or take the protocol out of 'provides'");
}

/** Throws `provides_mismatch` when `instance` lacks a handler that its manifest names; returns a warning for each of the kernel's protocols that it has undeclared. */
export function checkClass(instance: object, manifest: Manifest, file: string): readonly string[] {
  const declared = new Set(manifest.provides);
  checkHandlers(instance, manifest, file);
  return [...KERNEL_PROTOCOLS.values()]
    .filter((protocol) => !declared.has(protocol.id) && hasSome(protocol, instance) && protocol.missing(instance).length === 0)
    .map((protocol) => `the class implements '${protocol.id}' but its manifest does not provide it: add it to 'provides'`);
}

function checkHandlers(instance: object, manifest: Manifest, file: string): void {
  const members = instance as Readonly<Record<string, unknown>>;
  const missing = handlerNames(manifest).filter((name) => typeof members[name] !== 'function');
  if (missing.length === 0) return;
  const named = missing.map((name) => `'${name}(payload, delivery)'${didYouMean(name, methodNames(instance))}`);
  throw new Problem('construct', 'provides_mismatch', `the class lacks what its manifest names as a handler: ${named.join('; ')}`, {
    file,
    cure: "implement it, or correct 'events.handles' or 'schedules'",
  });
}

function describeMissing(protocol: Protocol, instance: object): readonly string[] {
  return protocol.missing(instance).map((name) => {
    const kind = protocol.members[name]?.kind === 'constant' ? 'constant' : 'method';
    if (name in instance) return `has a '${name}' that is no ${kind}, as '${protocol.id}' needs it`;
    const found = misspelt(name, instance, protocol);
    return `has no ${kind} '${name}', which '${protocol.id}' needs${found === undefined ? '' : ` (did you mean to rename '${found}'?)`}`;
  });
}

/** A method of the class that is written almost like `name`; anything farther off has its own purpose. */
function misspelt(name: string, instance: object, protocol: Protocol): string | undefined {
  const others = methodNames(instance).filter((member) => !(member in protocol.members));
  return slipsOf(name, others, Math.ceil(name.length / 3))[0];
}

function hasSome(protocol: Protocol, instance: object): boolean {
  return Object.keys(protocol.members).some((name) => name in instance);
}

function methodNames(instance: object): readonly string[] {
  const names = new Set<string>();
  for (let level: object | null = instance; level && level !== Object.prototype; level = Object.getPrototypeOf(level) as object | null) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (typeof value === 'function') names.add(name);
  }
  names.delete('constructor');
  return [...names];
}
