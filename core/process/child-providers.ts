import { PithError, type Protocol, type Remote } from '../contract/index.ts';
import { splitSignal, type ProviderFacts } from '../kernel/index.ts';
import type { Declaration } from '../declarations/index.ts';
import type { Peer } from '@pith/process-rpc';

/** The providers of other extensions, reached through the kernel. */
export class Providers {
  /** `facts`: as the kernel described them last. */
  constructor(
    private readonly peer: Peer,
    public facts: readonly ProviderFacts[],
  ) {}

  use<T extends object>({ id, manifest, file }: Declaration, protocol: Protocol<T>): Remote<T> {
    const found = manifest?.depends_on.find((each) => this.#fact(each)?.provides.includes(protocol.id));
    if (found !== undefined) return this.#remote(found, protocol);
    throw new PithError('not_declared', `'${id}' asks for a provider of '${protocol.id}', but nothing in its depends_on provides it`, {
      where: file,
      cure: "add the provider's id to 'depends_on', or use context.find",
    });
  }

  find<T extends object>(protocol: Protocol<T>): readonly Remote<T>[] {
    return this.facts
      .filter(({ provides, reachable }) => reachable && provides.includes(protocol.id))
      .map(({ id }) => this.#remote(id, protocol));
  }

  #fact(id: string): ProviderFacts | undefined {
    return this.facts.find((each) => each.id === id);
  }

  #remote<T extends object>(extensionId: string, protocol: Protocol<T>): Remote<T> {
    const handle: Record<string, unknown> = { extensionId };
    for (const [name, member] of Object.entries(protocol.members)) {
      if (member.kind === 'constant') {
        const get = (): unknown => this.#fact(extensionId)?.constants[`${protocol.id}.${name}`];
        Object.defineProperty(handle, name, { enumerable: true, get });
        continue;
      }
      handle[name] = (...args: unknown[]) => {
        const { values, signal } = splitSignal(args);
        const asked = [extensionId, protocol.id, name, ...values];
        return member.kind === 'stream' ? this.peer.stream('use', asked, signal) : this.peer.call('use', asked, signal);
      };
    }
    return Object.freeze(handle) as Remote<T>;
  }
}
