import { PithError, type Protocol } from '../../contract/index.ts';
import { type Declaration, handlerNames, interfaceOf, KERNEL_PROTOCOLS } from '../../declarations/index.ts';
import type { Manifest } from '../../trust/index.ts';
import { didYouMean, slipsOf } from '@pith/plain-text';
import type { Implementation } from '../calls/surface.ts';
import { DefinedJobs } from './defined-jobs.ts';
import { Problem } from '../records/failures.ts';

/** What an extension provides: its class, and what its constructor gives to `context.provide` and `context.jobs`. */
export class Provided {
  readonly jobs = new DefinedJobs();
  readonly #given = new Map<string, Implementation>();
  #isSettled = false;

  /** Throws `not_declared` and `not_allowed` for what its manifest does not say, for a protocol of the kernel, twice, and after the constructor. */
  add(given: Implementation, { id, manifest, file }: Declaration): void {
    const { id: protocol } = given.protocol;
    const refused = (code: string, why: string, cure: string): PithError =>
      new PithError(code, `'${id}' provides '${protocol}', ${why}`, { where: file, cure });
    if (KERNEL_PROTOCOLS.has(protocol))
      throw refused('not_allowed', 'which its class itself must implement', 'make its members methods of the class');
    if (!manifest?.provides.includes(protocol))
      throw refused('not_declared', 'which its manifest does not say', `add ${protocol} to 'provides'`);
    if (this.#isSettled) throw refused('not_allowed', 'but only its constructor may', 'call context.provide in the constructor');
    if (this.#given.has(protocol))
      throw refused('not_allowed', 'which it has provided already', 'call context.provide once for each protocol');
    if (typeof given.on !== 'object' || given.on === null)
      throw refused('not_allowed', 'with something that is not an object', 'give an object that has its members');
    this.#given.set(protocol, given);
  }

  /**
   * After the constructor: the kernel's protocols are implemented by `instance`, those of extensions by what was given for them.
   * Throws `provides_mismatch` where one is not given, is not what the manifest of its extension says, or lacks a member.
   */
  settle(instance: object, { id: own, manifest, file, contract, imports }: Declaration): readonly Implementation[] {
    this.#isSettled = true;
    const mismatch = (message: string, cure: string, at = file): Problem =>
      new Problem('construct', 'provides_mismatch', message, { file: at, cure });
    const provided = (manifest?.provides ?? []).map((id): Implementation => {
      const ofKernel = KERNEL_PROTOCOLS.get(id);
      if (ofKernel) return { protocol: ofKernel, on: instance };
      const found = this.#given.get(id);
      if (!found)
        throw mismatch(
          `the manifest provides '${id}', which the constructor of the class does not`,
          'import the protocol from the contract that defines it, and call context.provide(protocol, implementation) in the constructor',
        );
      const defined = manifest?.defines.protocols[id] ?? imports?.protocols[id]?.members ?? [];
      const lacking = defined.filter((name) => !(name in found.protocol.members));
      if (lacking.length === 0) return found;
      const by = imports?.protocols[id]?.by ?? own;
      throw mismatch(
        `the protocol '${id}' has no ${lacking.join(', ')}, which the manifest of '${by}' defines`,
        `make the contract of '${by}' and its 'defines.protocols' agree, and import the protocol from there`,
        (by === own ? contract : imports?.contracts[by])?.file,
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
    if (name in instance) return `has a '${name}' that is not a ${kind}, as '${protocol.id}' needs it`;
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
