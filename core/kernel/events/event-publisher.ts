import { type Events, PithError, type PublishOptions, type Topic } from '../../contract/index.ts';
import { KERNEL_TOPICS } from '../records/kernel-names.ts';
import { didYouMean } from '@pith/plain-text';
import type { Declaration } from '../discovery/declaration.ts';
import type { Secrets } from '../records/secrets.ts';
import { currentCorrelation, runOutside } from '../records/stray-errors.ts';
import { topicOf } from './bus.ts';

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

/** Durable topics carry people's words: who hears them says so in its manifest, where a person reads it. */
export function refusedListening({ id, file, manifest, imports }: Declaration, topic: string): PithError | null {
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
