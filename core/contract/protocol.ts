/** One member of a protocol, for checking `provides` and for handles. Made by `method`, `stream` and `constant`. */
export interface Member<Kind extends 'method' | 'stream' | 'constant' = 'method' | 'stream' | 'constant'> {
  readonly kind: Kind;
  readonly optional?: boolean;
  /** The time limit of a call through a handle in milliseconds; null: none. Default 10,000. */
  readonly timeoutMs?: number | null;
  /** The number of parameters before the AbortSignal, for methods that take one. */
  readonly signalAt?: number;
  readonly byReference?: true; // arguments and answer may hold what JSON cannot say; of protocols in one process
}

type Facts = Omit<Member, 'kind'>;

/** A method that answers once. */
export function method(facts: Facts = {}): Member<'method'> {
  return { kind: 'method', ...facts };
}

/** A method that returns an AsyncIterable, without a time limit. */
export function stream(facts: Omit<Facts, 'timeoutMs'> = {}): Member<'stream'> {
  return { kind: 'stream', ...facts };
}

/** A value that is read once, when the provider is activated. */
export function constant(facts: Pick<Facts, 'optional'> = {}): Member<'constant'> {
  return { kind: 'constant', ...facts };
}

type Method = (...args: never[]) => unknown;
type MemberOf<V> = V extends Method ? Member<ReturnType<V> extends AsyncIterable<unknown> ? 'stream' : 'method'> : Member<'constant'>;

/** A named interface and its structural guard. `T` is the type of an implementation. */
export interface Protocol<T extends object = object> {
  /** Protocols with the same id are the same, even as different objects. */
  readonly id: string;
  /** Its providers act as a person or as the kernel, so code in a separate process cannot get them. */
  readonly inProcessOnly: boolean;
  readonly members: Readonly<Record<string, Member>>;
  /** Members that `value` lacks or has in another shape; empty when it implements the protocol. */
  missing(value: object): readonly string[];
  toString(): string;
  /** Carries `T` for inference; never set. */
  readonly type?: T;
}

type Members<T extends object> = { readonly [K in keyof Required<T>]: MemberOf<Required<T>[K]> };

/** A protocol that the manifest names in `defines.protocols`. Its providers call `context.provide` with an implementation. */
export function defineProtocol<T extends object>(
  id: string,
  members: Members<T>,
  { inProcessOnly = false }: { readonly inProcessOnly?: boolean } = {},
): Protocol<T> {
  const entries = Object.entries<Member>(members);
  return Object.freeze({
    id,
    inProcessOnly,
    members,
    missing(value: object) {
      const found = value as Record<string, unknown>;
      const lacks = ([name, member]: readonly [string, Member]): boolean => {
        const part = found[name];
        return part === undefined ? !member.optional : (member.kind === 'constant') === (typeof part === 'function');
      };
      return entries.filter(lacks).map(([name]) => name);
    },
    toString: () => `protocol:${id}`,
  });
}

/** As `defineProtocol`, for protocols that act as a person or as the kernel. */
export function defineInProcess<T extends object>(id: string, members: Members<T>): Protocol<T> {
  return defineProtocol(id, members, { inProcessOnly: true });
}

/** A handle on a provider, valid across its reloads. Constants are those of its activation; a call while it is gone rejects `stopped`. */
export type Remote<T extends object> = {
  readonly [K in keyof T]: T[K] extends Method
    ? ReturnType<T[K]> extends AsyncIterable<infer Part>
      ? (...args: Parameters<T[K]>) => AsyncIterable<Part>
      : (...args: Parameters<T[K]>) => Promise<Awaited<ReturnType<T[K]>>>
    : T[K];
} & { readonly extensionId: string };
