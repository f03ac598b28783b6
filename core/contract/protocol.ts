/** One method or constant of a protocol, as `provides` is checked and as a handle forwards it. */
export interface Member {
  /** `stream` methods return an AsyncIterable; `constant` members are read once, when the provider is activated. */
  readonly kind: 'method' | 'stream' | 'constant';
  /** For the message of a failed check: `getTools(): Tool[]`. */
  readonly signature: string;
  readonly optional?: boolean;
  /** Milliseconds until a call through a handle is cut; null for none. Default 10,000. */
  readonly timeoutMs?: number | null;
  /** How many parameters are before the AbortSignal, for methods that take one. */
  readonly signalAt?: number;
}

/** A named interface and its structural guard. `T` is what an implementing class looks like. */
export interface Protocol<T extends object = object> {
  /** Two protocols of one id are the same, whoever made the value. */
  readonly id: string;
  /** It acts as a person or as the kernel: code in a separate process has no providers of it. */
  readonly inProcessOnly: boolean;
  readonly members: Readonly<Record<string, Member>>;
  /** Signatures that `value` lacks or has in another shape; empty when it implements the protocol. */
  missing(value: object): readonly string[];
  toString(): string;
  /** Carries `T` for inference; never set. */
  readonly type?: T;
}

/** A protocol as the manifest of its extension names it in `defines.protocols`. Who provides it lists it in `static protocols` of the class. */
export function defineProtocol<T extends object>(
  id: string,
  members: { readonly [K in keyof Required<T>]: Member },
  { inProcessOnly = false }: { readonly inProcessOnly?: boolean } = {},
): Protocol<T> {
  const entries = Object.entries<Member>(members);
  return Object.freeze({
    id,
    inProcessOnly,
    members,
    missing(value: object) {
      const found = value as Record<string, unknown>;
      return entries
        .filter(([name, member]) => {
          const part = found[name];
          if (part === undefined) return !member.optional;
          return (member.kind === 'constant') === (typeof part === 'function');
        })
        .map(([, member]) => member.signature);
    },
    toString: () => `protocol:${id}`,
  });
}

type Method = (...args: never[]) => unknown;

/**
 * A provider as seen through a handle: each method asynchronous, constants as they were at activation.
 * The handle stays valid when the provider reloads; a call while it is gone rejects `stopped`.
 */
export type Remote<T extends object> = {
  readonly [K in keyof T]: T[K] extends Method
    ? ReturnType<T[K]> extends AsyncIterable<infer Part>
      ? (...args: Parameters<T[K]>) => AsyncIterable<Part>
      : (...args: Parameters<T[K]>) => Promise<Awaited<ReturnType<T[K]>>>
    : T[K];
} & { readonly extensionId: string };
