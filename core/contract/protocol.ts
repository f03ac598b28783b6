/** One member of a protocol, as `provides` is checked and as a handle calls it. Made by `method`, `stream` and `constant`. */
export interface Member<Kind extends 'method' | 'stream' | 'constant' = 'method' | 'stream' | 'constant'> {
  readonly kind: Kind;
  readonly optional?: boolean;
  /** Milliseconds until a call through a handle is cut; null for none. Default 10,000. */
  readonly timeoutMs?: number | null;
  /** How many parameters are before the AbortSignal, for methods that take one. */
  readonly signalAt?: number;
}

type Facts = Omit<Member, 'kind'>;

/** A method that answers once. */
export function method(facts: Facts = {}): Member<'method'> {
  return { kind: 'method', ...facts };
}

/** A method that returns an AsyncIterable. It has no limit of time. */
export function stream(facts: Omit<Facts, 'timeoutMs'> = {}): Member<'stream'> {
  return { kind: 'stream', ...facts };
}

/** A value that is read once, when the provider is activated. */
export function constant(facts: Pick<Facts, 'optional'> = {}): Member<'constant'> {
  return { kind: 'constant', ...facts };
}

type Method = (...args: never[]) => unknown;
type MemberOf<V> = V extends Method ? Member<ReturnType<V> extends AsyncIterable<unknown> ? 'stream' : 'method'> : Member<'constant'>;

/** A named interface and its structural guard. `T` is what an implementation looks like. */
export interface Protocol<T extends object = object> {
  /** Two protocols of one id are the same, whoever made the value. */
  readonly id: string;
  /** It acts as a person or as the kernel: code in a separate process has no providers of it. */
  readonly inProcessOnly: boolean;
  readonly members: Readonly<Record<string, Member>>;
  /** Names of members that `value` lacks or has in another shape; empty when it implements the protocol. */
  missing(value: object): readonly string[];
  toString(): string;
  /** Carries `T` for inference; never set. */
  readonly type?: T;
}

type Members<T extends object> = { readonly [K in keyof Required<T>]: MemberOf<Required<T>[K]> };

/** A protocol as the manifest of its extension names it in `defines.protocols`. Who provides it gives an implementation to `context.provide`. */
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

/** As `defineProtocol`, of what acts as a person or as the kernel. */
export function defineInProcess<T extends object>(id: string, members: Members<T>): Protocol<T> {
  return defineProtocol(id, members, { inProcessOnly: true });
}

/** A provider as seen through a handle, which stays valid when the provider reloads. Constants are as they were at activation; a call while it is gone rejects `stopped`. */
export type Remote<T extends object> = {
  readonly [K in keyof T]: T[K] extends Method
    ? ReturnType<T[K]> extends AsyncIterable<infer Part>
      ? (...args: Parameters<T[K]>) => AsyncIterable<Part>
      : (...args: Parameters<T[K]>) => Promise<Awaited<ReturnType<T[K]>>>
    : T[K];
} & { readonly extensionId: string };
