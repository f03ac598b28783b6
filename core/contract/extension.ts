import type { Diagnostic, JsonValue } from './errors.ts';
import type { Events } from './events.ts';
import type { Jobs, JobStatement } from './jobs.ts';
import { type Protocol, type Remote, constant, defineProtocol } from './protocol.ts';
import type { AgentSpec, TurnEvent, TurnRequest } from './turn.ts';

/** Fields are plain data; secrets never belong in them. */
export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Small JSON values of one extension, durable when the promise resolves. Keys ≤ 512 bytes, values ≤ 1 MiB; `keys` are sorted. */
interface KeyValue {
  /** null, and `delete` false, when there is none. */
  get(key: string): Promise<JsonValue>;
  set(key: string, value: JsonValue): Promise<void>;
  delete(key: string): Promise<boolean>;
  keys(prefix?: string): Promise<readonly string[]>;
}

type SqlValue = null | number | bigint | string | Uint8Array;
type SqlRow = Record<string, SqlValue>;

/** The tables of one extension in Pith's database; their names must begin with `<extension id>__`. In process only. */
interface Database {
  readonly dialect: 'sqlite';
  /** All rows of a query, or with `get` the first or null. Positional parameters, as many as the statement has. */
  all(sql: string, ...parameters: SqlValue[]): Promise<SqlRow[]>;
  get(sql: string, ...parameters: SqlValue[]): Promise<SqlRow | null>;
  /** One transaction: the changed rows of each statement, once durable. Rejects `write_conflict` where one did not change `changes` rows. */
  write(
    statements: readonly ({ readonly sql: string; readonly values?: readonly SqlValue[]; readonly changes?: number } | JobStatement)[],
  ): Promise<readonly number[]>;
}

export interface AgentsApi {
  /** Every declared agent that can run. */
  list(): Promise<readonly AgentSpec[]>;
  /** The id of the agent that answers who names none, as the settings say; nothing may have that id. */
  defaultId(): Promise<string>;
  /** The declared agent with that id. Rejects `agent_unknown` with the nearest names, `agent_failed` with the reason and the cure. */
  find(id: string): Promise<AgentSpec>;
  /** What prevents this agent from running (`error`), or what it lacks (`warning`), with the nearest names; empty when all is well. */
  check(agent: AgentSpec): Promise<readonly Diagnostic[]>;
  /** The one way to run an agent. Never throws; ends with `turn-end`. */
  run(request: TurnRequest, signal?: AbortSignal): AsyncIterable<TurnEvent>;
}

/** Where an extension sends a secret. */
export interface SecretUse {
  /** A prefix of models or a server of its own. Only for shipped extensions. */
  readonly part?: string;
  /** An address, of which only the origin is compared, or a command line. `isDefault`: it is the provider's default address. */
  readonly to: string;
  readonly isDefault?: boolean;
}

/** All that an extension gets from the kernel, which releases it when the extension stops. */
export interface ExtensionContext<Config = Readonly<Record<string, unknown>>> {
  readonly id: string;
  /** The extension's folder, absolute. Read only. */
  readonly directory: string;
  /** The folder that it may write, absolute; created on first access. */
  readonly dataDirectory: string;
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly events: Events;
  readonly jobs: Jobs;
  readonly kv: KeyValue;
  readonly database: Database;
  readonly agents: AgentsApi;
  /** A secret that the manifest or the settings name, or null; `use`: where it goes. Throws `not_declared`, or `secret_not_given` if given for something else. */
  getSecret(name: string, use?: SecretUse): string | null;
  /** Implements a protocol that an extension defines; once, in the constructor. Throws `not_declared` if `provides` lacks it. */
  provide<T extends object>(protocol: Protocol<T>, implementation: T): void;
  /** The provider among `depends_on`, or the kernel (`Places`; inside it also `ExtensionSettings`, `Bundler`); throws `not_declared` if none provides it. */
  use<T extends object>(protocol: Protocol<T>): Remote<T>;
  /** Every available provider; empty when there is none. */
  find<T extends object>(protocol: Protocol<T>): readonly Remote<T>[];
  /** `release` runs when the extension stops, newest first, once. */
  own(release: () => void | Promise<void>): void;
}

/** The folders of this installation, absolute. The kernel answers it: `const { sandbox, home } = context.use(Places)`. */
export interface Places {
  readonly sandbox: string;
  /** The person's project as a real path: the folder around `sandbox`, else the git root or the working directory. null: none is usable. */
  readonly project: string | null;
  /** The opened sandbox if it is not trusted: its content may be named, never used; else null. */
  readonly untrustedSandbox: string | null;
  /** The project's files and folders that the person was shown when they trusted the sandbox: they may be used. Absolute; ask each time. */
  readonly projectFiles: readonly string[];
  /** The extensions, agents and skills that ship with Pith. May be `sandbox`. */
  readonly shippedSandbox: string;
  /** All that Pith and its extensions keep is below it; may be outside of the sandbox. */
  readonly data: string;
  /** The user's home folder, where other tools keep their files; null where Pith was started without one. */
  readonly home: string | null;
  /** What the command line of `pith serve` asks for; null elsewhere. */
  readonly serve: { readonly port: number | null; readonly host?: string } | null;
}

export const Places = defineProtocol<Places>('places', {
  sandbox: constant(),
  project: constant(),
  untrustedSandbox: constant(),
  projectFiles: constant(),
  shippedSandbox: constant(),
  data: constant(),
  home: constant(),
  serve: constant(),
});

/** Optional members of a class besides its protocols. */
export interface Extension {
  initialize?(): Promise<void> | void;
  start?(): Promise<void> | void;
  stop?(): Promise<void> | void;
  /** The secrets that it requests under its present settings, and where they go, as a person sees it. Without it, all that it may request. */
  secretUses?(): readonly { readonly name: string; readonly use?: SecretUse }[];
  /** Problems of what it manages. `pith doctor` shows them; warnings and errors also appear at the start of a conversation. */
  findings?(signal?: AbortSignal): Promise<readonly Diagnostic[]> | readonly Diagnostic[];
}

/** The only source of time. Times are milliseconds since the Unix epoch, in UTC. */
export interface Clock {
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`. Returns a function that cancels it. Does not keep the process alive. */
  after(ms: number, run: () => void): () => void;
}
