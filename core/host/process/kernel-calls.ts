import { messageOf, PithError } from '../../contract/errors.ts';
import type {
  AgentSpec,
  ExtensionContext,
  JsonValue,
  Off,
  ProtocolId,
  PublishOptions,
  Topic,
  TopicMap,
  TurnRequest,
} from '../../contract/index.ts';
import { PROTOCOLS } from '../calls/protocols.ts';
import type { HostParts } from '../host-parts.ts';
import { problemOf } from '../problem.ts';
import type { CommandCalls } from './command-bridge.ts';
import { errorFromData } from './error-data.ts';
import type { OwnTurns } from './own-turns.ts';
import type { Incoming, Peer } from './peer.ts';

export interface KernelCallsOptions {
  readonly host: Pick<HostParts, 'note' | 'failures' | 'crashed'>;
  /** The extension's own door, with all its checks: the process reaches the kernel through nothing else. */
  readonly context: ExtensionContext;
  readonly commands: CommandCalls;
  readonly turns: OwnTurns;
  peer(): Peer;
  /** Its service begins to work. */
  background(): void;
}

/** What the process of an extension may ask of the kernel. */
export class KernelCalls {
  readonly #options: KernelCallsOptions;
  readonly #listening = new Map<string, Off>();

  constructor(options: KernelCallsOptions) {
    this.#options = options;
  }

  /** Whether it waits for events. */
  get listens(): boolean {
    return this.#listening.size > 0;
  }

  readonly serve = (operation: string, args: readonly unknown[], incoming: Incoming): unknown => {
    if (operation.startsWith('io.')) return this.#options.commands.serve(operation, args);
    const act = this.#calls[operation];
    if (!act) throw new PithError('not_declared', `the kernel has no ${operation} for extensions`);
    return act(args, incoming);
  };

  readonly #calls: Readonly<Record<string, (args: readonly unknown[], incoming: Incoming) => unknown>> = {
    log: ([level, message, fields], { correlationId }) => {
      const { logger } = this.#options.context;
      const known = level === 'debug' || level === 'warn' || level === 'error' ? level : 'info';
      logger[known](String(message), { ...(fields as object), ...(correlationId === undefined ? {} : { correlationId }) });
    },
    note: ([code, message]) => this.#options.host.note(this.#options.context.id, String(code), String(message)),
    failure: ([error]) =>
      void this.#options.host.failures.record(this.#options.context.id, problemOf(errorFromData(error), 'call', 'provider_failed')),
    crashed: ([error]) => this.#options.host.crashed(this.#options.context.id, problemOf(errorFromData(error), 'call', 'stray_error')),
    background: () => this.#options.background(),
    'kv.get': ([key]) => this.#options.context.kv.get(String(key)),
    'kv.set': ([key, value]) => this.#options.context.kv.set(String(key), value as JsonValue),
    'kv.delete': ([key]) => this.#options.context.kv.delete(String(key)),
    'kv.keys': ([prefix]) => this.#options.context.kv.keys(prefix === undefined ? undefined : String(prefix)),
    'events.publish': ([topic, payload, options], { correlationId }) => this.#publish(topic, payload, options, correlationId),
    'events.handle': ([topic]) => this.#listen(String(topic)),
    'events.off': ([topic]) => this.#unlisten(String(topic)),
    'agents.list': () => this.#options.context.agents.list(),
    'agents.check': ([agent]) => this.#options.context.agents.check(agent as AgentSpec),
    'agents.run': ([request], { signalOf, correlationId }) =>
      this.#options.context.agents.run(
        this.#options.turns.checked({ ...(correlationId === undefined ? {} : { correlationId }), ...(request as TurnRequest) }),
        signalOf(),
      ),
    use: ([id, protocol, member, args], { signalOf }) =>
      this.#use(String(id), String(protocol), String(member), args as readonly unknown[], signalOf),
  };

  #publish(topic: unknown, payload: unknown, given: unknown, correlationId: string | undefined): Promise<string> | undefined {
    const { events, logger } = this.#options.context;
    const options = given as PublishOptions | undefined;
    try {
      return events.publish(topic as 'notify', payload as TopicMap['notify'], {
        ...options,
        correlationId: options?.correlationId ?? correlationId,
      });
    } catch (error) {
      logger.warn('an event was refused', { error: messageOf(error) }); // who published it does not wait for an answer
      return undefined;
    }
  }

  #listen(topic: string): void {
    if (this.#listening.has(topic)) return;
    const off = this.#options.context.events.handle(topic as Topic, (payload) => this.#options.peer().tell('event', [topic, payload]));
    this.#listening.set(topic, off);
  }

  #unlisten(topic: string): void {
    this.#listening.get(topic)?.();
    this.#listening.delete(topic);
  }

  #use(id: string, protocolId: string, name: string, args: readonly unknown[], signalOf: Incoming['signalOf']): unknown {
    const protocol = PROTOCOLS.get(protocolId as ProtocolId);
    const member = protocol?.members[name];
    if (!protocol || !member || member.kind === 'constant') throw new PithError('not_declared', `there is no ${protocolId}.${name}`);
    const handle = this.#handleOf(id, protocol) as Readonly<Record<string, (...values: unknown[]) => unknown>>;
    const { signalAt } = member;
    const values = signalAt === undefined ? args : [...Array.from({ length: signalAt }, (_, at) => args[at]), signalOf()];
    return handle[name]?.(...values);
  }

  #handleOf(id: string, protocol: Parameters<ExtensionContext['find']>[0]): object {
    const { context } = this.#options;
    const found = context.find(protocol).find(({ extensionId }) => extensionId === id) ?? this.#needed(id, protocol);
    if (found) return found;
    throw new PithError('stopped', `the extension '${id}' is not there any more`);
  }

  /** What stands in `depends_on` is reached also while it is being loaded anew. */
  #needed(id: string, protocol: Parameters<ExtensionContext['find']>[0]): object | undefined {
    try {
      const handle = this.#options.context.use(protocol);
      return handle.extensionId === id ? handle : undefined;
    } catch {
      return undefined; // nothing in depends_on provides it
    }
  }
}
