import { EventEmitter } from 'eventemitter3';
import { KERNEL_TOPICS, type Declaration } from '../../declarations/index.ts';
import { type Diagnostic, type Events, messageOf, PithError, type PublishOptions, type Topic } from '../../contract/index.ts';
import { isThenable } from '@pith/promises';
import { didYouMean } from '@pith/plain-text';
import type { Secrets } from '../../trust/index.ts';
import { currentCorrelation, runOutside } from '../records/stray-errors.ts';

/** Where durable topics are written. */
export interface DurableEvents {
  /** Resolves to the event's id when it is on disk. */
  publish(topic: string, payload: object, options?: PublishOptions): Promise<string>;
}

export interface Bus extends Events {
  /** Calls the listeners of what the journal has written. */
  announce(event: { readonly topic: string; readonly payload: object }): void;
  /** What listeners threw: each message once, and not without end. */
  failures(): readonly Diagnostic[];
  close(): void;
}

/** Messages beyond these say nothing new. */
const MOST_FAILURES = 20;

/**
 * The one bus. `publish` calls every listener at once, each on its own: none delays, breaks or sees the failure of another. The first
 * durable event asks for the `journal`; without one this kernel keeps none, and publishing one rejects.
 */
export function createEvents(journal?: () => DurableEvents): Bus {
  const emitter = new EventEmitter();
  const failures = new Set<string>();
  const failed = (topic: string, error: unknown): void => {
    if (failures.size < MOST_FAILURES) failures.add(`a listener of '${topic}' failed: ${messageOf(error)}`);
  };
  const publish = (topic: string | Topic, payload: object, options?: PublishOptions): Promise<string> | undefined => {
    const { id, durable } = topicOf(topic);
    if (!durable) return void emitter.emit(id, payload);
    return new Promise((resolve) => {
      if (journal === undefined) throw new PithError('not_supported_yet', `'${id}' was not published: this kernel keeps no events`);
      resolve(journal().publish(id, payload, options));
    });
  };
  const handle = (topic: string | Topic, listener: (payload: object) => unknown): (() => void) => {
    const { id } = topicOf(topic);
    const isolated = (payload: object): void => {
      try {
        const result = listener(payload);
        if (isThenable(result)) result.then(undefined, (error: unknown) => failed(id, error));
      } catch (error) {
        failed(id, error);
      }
    };
    emitter.on(id, isolated);
    return () => void emitter.off(id, isolated);
  };
  return {
    publish: publish as Events['publish'],
    handle: handle as Events['handle'],
    announce: ({ topic, payload }) => void emitter.emit(topic, payload),
    failures: () => [...failures].map((message) => ({ severity: 'warning', code: 'internal', message })),
    close() {
      emitter.removeAllListeners();
    },
  };
}

/** A topic by its name or token; a name that is none of the kernel's is not durable. */
export function topicOf(topic: string | Topic): Topic {
  return typeof topic === 'string' ? { id: topic, durable: KERNEL_TOPICS.get(topic)?.durable === true } : topic;
}

/**
 * `publish` as one extension may use it: what it defines, and what its manifest says that it publishes; of the kernel's topics those that
 * are left to extensions. Secrets are taken out.
 */
export function eventPublisher(bus: Events, secrets: Pick<Secrets, 'redactJson'>, declaration: Declaration): Events['publish'] {
  const publish = (given: string | Topic, payload: object, options?: PublishOptions): unknown => {
    const events = bus as { publish(...values: unknown[]): unknown };
    const topic = knownTopic(declaration, given);
    const refused = 'refused' in topic ? topic.refused : null;
    if (refused && topicOf(given).durable) return Promise.reject(refused);
    if (refused) throw refused;
    const { id, durable } = topic as Topic;
    const isOfItself = KERNEL_TOPICS.get(id)?.by === 'itself';
    const clean = secrets.redactJson(isOfItself ? { ...payload, extensionId: declaration.id } : payload);
    const correlationId = options?.correlationId ?? currentCorrelation();
    const whole = durable ? [{ ...options, ...(correlationId === undefined ? {} : { correlationId }) }] : [];
    return runOutside(() => events.publish({ id, durable }, clean, ...whole));
  };
  return publish as Events['publish'];
}

/** As those who define it say it; `refused`: this extension does not publish it. */
function knownTopic({ id, file, manifest, imports }: Declaration, given: string | Topic): Topic | { readonly refused: PithError } {
  const { id: topic, durable } = topicOf(given);
  const refuse = (code: 'not_allowed' | 'not_declared', why: string, cure: string) => ({
    refused: new PithError(code, `'${id}' publishes '${topic}', ${why}`, { where: file, cure }),
  });
  const own = manifest?.defines.topics[topic];
  const kernel = KERNEL_TOPICS.get(topic);
  const known = own ?? kernel ?? imports?.topics[topic];
  const declared = manifest?.events.publishes ?? [];
  if (kernel?.by === 'kernel') return refuse('not_allowed', 'which only the kernel does', 'publish another topic');
  if (known === undefined)
    return refuse(
      'not_declared',
      `which nothing that it depends on defines${didYouMean(topic, [...Object.keys(manifest?.defines.topics ?? {}), ...declared])}`,
      `add ${topic} to 'defines.topics', or depend on the extension that defines it`,
    );
  if (!own && kernel?.by !== 'itself' && !declared.includes(topic))
    return refuse(
      'not_declared',
      `which its manifest does not declare${didYouMean(topic, declared)}`,
      `add ${topic} to 'events.publishes'`,
    );
  if (typeof given !== 'string' && known.durable !== durable)
    return refuse(
      'not_declared',
      `whose contract says that it is ${durable ? '' : 'not '}durable, and its manifest the opposite`,
      "make contract and 'defines.topics' agree",
    );
  return { id: topic, durable: known.durable };
}

/** What a service offers may be an address that signs a person in, so the terminal alone learns of it. */
const TERMINAL_ONLY = 'service.ready';

/** Durable topics carry people's words: who hears them says so in its manifest, where a person reads it. */
export function refusedListening({ id, file, manifest, imports }: Declaration, topic: string): PithError | null {
  if (topic === TERMINAL_ONLY)
    return new PithError('not_allowed', `'${id}' listens to '${topic}', which is for the person at the terminal`, { where: file });
  const declared = manifest?.events.handles.map((each) => each.topic) ?? [];
  const known = manifest?.defines.topics[topic] ?? KERNEL_TOPICS.get(topic) ?? imports?.topics[topic];
  if (known === undefined)
    return new PithError(
      'not_declared',
      `'${id}' listens to '${topic}', which nothing that it depends on defines${didYouMean(topic, KERNEL_TOPICS.keys())}`,
      {
        where: file,
        cure: "add the extension that defines it to 'depends_on' or 'optional_depends_on'",
      },
    );
  if (!known.durable || declared.includes(topic)) return null;
  return new PithError('not_declared', `'${id}' listens to '${topic}', which its manifest does not declare${didYouMean(topic, declared)}`, {
    where: file,
    cure: `add ${topic} with its handler to 'events.handles'`,
  });
}
