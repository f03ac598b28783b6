import {
  type AgentSpec,
  type ExtensionContext,
  messageOf,
  PithError,
  type PublishOptions,
  type TopicMap,
  type TurnRequest,
  type TurnInfo,
} from '../contract/index.ts';
import { elapsed } from '@pith/promises';
import { toJsonValue, type HostJobs, type Reports, type TierKernel, problemOf } from '../kernel/index.ts';
import type { Declaration } from '../declarations/index.ts';
import type { CommandCalls } from './command-bridge.ts';
import { jobCalls } from './job-calls.ts';
import { errorFromData, cutText, givenObject, givenText } from './crossing.ts';
import { type Incoming, logAllowance, type Peer } from '@pith/process-rpc';

const MOST_NAME = 200;
const MOST_NOTE = 2000;
const MOST_LINE = 8 * 1024;
const MOST_FIELDS = 64 * 1024;
const MOST_TOPICS = 256;
const MOST_ARGUMENTS = 16;

export interface KernelCallsOptions {
  readonly reports: Pick<Reports, 'note' | 'failures' | 'crashed'>;
  readonly callFromProcess: TierKernel['callFromProcess'];
  readonly declaration: Declaration;
  /** The context of the extension, with all its checks: the process reaches the kernel through nothing else. */
  readonly context: ExtensionContext;
  /** Its jobs, with all their checks. */
  jobs(): HostJobs;
  readonly commands: CommandCalls;
  readonly turns: OwnTurns;
  peer(): Peer;
  /** Its service begins to work. */
  background(): void;
}

/** What the process of an extension may ask of the kernel. */
export class KernelCalls {
  readonly #listening = new Map<string, () => void>();
  readonly #allowed = logAllowance((message) => this.options.context.logger.warn(message), elapsed);
  #hasIgnored = false;

  constructor(private readonly options: KernelCallsOptions) {}

  /** Whether it waits for events. */
  get listens(): boolean {
    return this.#listening.size > 0;
  }

  readonly serve = (operation: string, args: readonly unknown[], incoming: Incoming): unknown => {
    const { id, dynamic } = this.options.declaration;
    if (dynamic && !DYNAMIC_MAY.has(operation))
      throw new PithError('not_allowed', `'${id}' may not ask for ${operation}: '${dynamic.by}' declares it`);
    if (operation.startsWith('io.')) return this.options.commands.serve(operation, args);
    if (!Object.hasOwn(this.#calls, operation)) throw new PithError('not_declared', `the kernel has no ${operation} for extensions`);
    return this.#calls[operation]?.(args, incoming);
  };

  /** Said once: whoever writes into a terminal that is gone does so again and again. */
  readonly ignored = (operation: string, error: unknown): void => {
    if (this.#hasIgnored) return;
    this.#hasIgnored = true;
    this.options.context.logger.warn('what it sent was ignored, and so will be what follows', { operation, why: messageOf(error) });
  };

  readonly #calls: Readonly<Record<string, (args: readonly unknown[], incoming: Incoming) => unknown>> = {
    log: (given, { correlationId }) => this.#log(given, correlationId),
    note: ([code, message]) => {
      const text = cutText(message, MOST_NOTE);
      if (this.#allowed(text.length)) this.options.reports.note(this.options.context.id, cutText(code, MOST_NAME), text);
    },
    failure: ([error]) => {
      const problem = problemOf(errorFromData(error), 'call', 'provider_failed');
      if (this.#allowed(problem.message.length)) this.options.reports.failures.record(this.options.context.id, problem);
    },
    crashed: ([error]) => this.options.reports.crashed(this.options.context.id, problemOf(errorFromData(error), 'call', 'stray_error')),
    background: () => this.options.background(),
    'kv.get': ([key]) => this.options.context.kv.get(givenText(key, 'a key')),
    'kv.set': ([key, value]) =>
      this.options.context.kv.set(givenText(key, 'a key'), value === undefined ? (value as never) : toJsonValue(value, 'the value')),
    'kv.delete': ([key]) => this.options.context.kv.delete(givenText(key, 'a key')),
    'kv.keys': ([prefix]) => this.options.context.kv.keys(prefix === undefined ? undefined : givenText(prefix, 'a prefix')),
    'events.publish': (given, { correlationId }) => this.#publish(given, correlationId),
    'events.handle': ([topic]) => this.#listen(givenText(topic, 'a topic')),
    'events.off': ([topic]) => this.#unlisten(givenText(topic, 'a topic')),
    'agents.list': () => this.options.context.agents.list(),
    'agents.defaultId': () => this.options.context.agents.defaultId(),
    'agents.find': ([id]) => this.options.context.agents.find(givenText(id, 'an agent')),
    'agents.check': ([agent]) => this.options.context.agents.check(givenObject(agent, 'the agent') as unknown as AgentSpec),
    'agents.run': ([given], { signal, correlationId }) => {
      const { seal: _none, ...request } = givenObject(given, 'the request') as unknown as TurnRequest; // no function comes over
      const whole = this.options.turns.checked({ ...(correlationId === undefined ? {} : { correlationId }), ...request });
      return this.options.context.agents.run(this.#declaredBy(whole), signal);
    },
    ...jobCalls(() => this.options.jobs()),
    use: (given, { signal }) => this.#use(given, signal),
  };

  /** Whatever prompt is in an agent that it hands over: its own process renders it. */
  #declaredBy(request: TurnRequest): TurnRequest {
    const { agent } = request;
    return typeof agent === 'string' ? request : { ...request, agent: { ...agent, promptBy: this.options.context.id } };
  }

  #log([level, message, fields]: readonly unknown[], correlationId: string | undefined): void {
    const { logger } = this.options.context;
    const known = level === 'debug' || level === 'warn' || level === 'error' ? level : 'info';
    const given = loggedFields(fields);
    const text = cutText(message, MOST_LINE);
    if (this.#allowed(text.length + JSON.stringify(given).length))
      logger[known](text, { ...given, ...(correlationId === undefined ? {} : { correlationId }) });
  }

  #publish([topic, payload, given]: readonly unknown[], correlationId: string | undefined): Promise<string> {
    const { events, logger } = this.options.context;
    try {
      const options = givenObject(given ?? {}, 'the options') as PublishOptions;
      return events.publish(givenText(topic, 'a topic') as 'notify', givenObject(payload, 'the payload') as unknown as TopicMap['notify'], {
        ...options,
        correlationId: options.correlationId ?? correlationId,
      });
    } catch (error) {
      const why = messageOf(error); // logged here too: for most topics nobody waits for an answer
      if (this.#allowed(why.length)) logger.warn('an event was refused', { error: why });
      throw error;
    }
  }

  #listen(topic: string): void {
    if (this.#listening.has(topic)) return;
    if (topic.length > MOST_NAME || this.#listening.size >= MOST_TOPICS)
      throw new PithError(
        'parameter_invalid',
        `an extension may wait for at most ${MOST_TOPICS} topics, named with at most ${MOST_NAME} characters`,
      );
    const off = this.options.context.events.handle(topic as 'notify', (payload) => this.options.peer().notify('event', [topic, payload]));
    this.#listening.set(topic, off);
  }

  #unlisten(topic: string): void {
    this.#listening.get(topic)?.();
    this.#listening.delete(topic);
  }

  #use([id, protocol, member, ...args]: readonly unknown[], signal: Incoming['signal']): Promise<unknown> {
    const name = givenText(member, 'a member');
    if (args.length > MOST_ARGUMENTS) throw new PithError('parameter_invalid', `${name} was given more than ${MOST_ARGUMENTS} arguments`);
    const asked = { extensionId: givenText(id, 'a provider'), protocol: givenText(protocol, 'a protocol'), name };
    return this.options.callFromProcess(this.options.declaration, asked, [...args, signal]);
  }
}

/** To say what happens. */
const DYNAMIC_MAY = new Set(['log', 'note', 'failure', 'crashed']);

/** Fields of a log line, as long as they can be written and are not too long. */
function loggedFields(fields: unknown): Readonly<Record<string, unknown>> {
  if (fields === undefined) return {};
  try {
    const given = givenObject(fields, 'the fields');
    const { length } = JSON.stringify(given);
    return length <= MOST_FIELDS ? given : { fields: `left out: ${length} characters` };
  } catch (error) {
    return { fields: messageOf(error) };
  }
}

/**
 * The turns whose calls a process works on now, and which turns it may run itself: of threads of its own (`<extension id>:…`), and below a
 * turn that it serves. The conversations of people are out of its reach, and so is what they allowed in them.
 */
export class OwnTurns {
  readonly #served = new Map<string, { readonly turn: TurnInfo; calls: number }>();

  constructor(private readonly extensionId: string) {}

  /** `turn` is the kernel's own value: what is in the input of a call says nothing of whom it serves. */
  async during<T>(turn: TurnInfo, run: () => Promise<T>): Promise<T> {
    const served = this.#served.get(turn.id) ?? { turn, calls: 0 };
    this.#served.set(turn.id, served);
    served.calls += 1;
    try {
      return await run();
    } finally {
      served.calls -= 1;
      if (served.calls === 0) this.#served.delete(turn.id);
    }
  }

  /** The request with the kernel's own knowledge of its parent. Throws `not_allowed`. */
  checked(request: TurnRequest): TurnRequest {
    const { threadId, parent: named } = request;
    const parent = named === undefined ? undefined : this.#served.get(named.id)?.turn;
    if (named !== undefined && parent === undefined)
      throw refused(
        `'${this.extensionId}' serves no call of the turn that it names as parent`,
        'pass the `turn` of a call that has not ended',
      );
    const beginning = parent === undefined ? `${this.extensionId}:` : `${parent.threadId}/`;
    if (typeof threadId !== 'string' || !threadId.startsWith(beginning))
      throw refused(`the thread '${String(threadId)}' is not one of '${this.extensionId}'`, `use a thread that begins with '${beginning}'`);
    return parent === undefined ? request : { ...request, parent };
  }
}

function refused(why: string, cure: string): PithError {
  return new PithError('not_allowed', why, { cure });
}
