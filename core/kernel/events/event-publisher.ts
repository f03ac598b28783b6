import { PithError } from '../../contract/errors.ts';
import { DURABLE_TOPICS } from '../../contract/events.ts';
import type { Events, PublishOptions, Topic, TopicMap } from '../../contract/index.ts';
import { didYouMean } from '@pith/plain-text';
import type { Declaration } from '../discovery/declaration.ts';
import type { Secrets } from '../records/secrets.ts';
import { currentCorrelation, runOutside } from '../records/stray-errors.ts';

/** What only the kernel says: people's words and answers, and what it does itself. */
const KERNEL_ONLY: ReadonlySet<string> = new Set<Topic>([
  'user.message',
  'approval.requested',
  'approval.answered',
  'extension.activated',
  'extension.failed',
  'extension.reloaded',
  'extension.stopped',
  'problem.found',
  'agent.changed',
  'toolset.loaded',
  'turn.started',
  'turn.ended',
  'tool.called',
  'thread.compacted',
]);

/** What an extension says of itself alone. */
const OF_ITSELF: ReadonlySet<string> = new Set<Topic>(['tools.changed', 'channel.opened']);

/** `publish` as one extension may use it: nothing that the kernel says, and durable topics only those that its manifest declares. Secrets are taken out. */
export function eventPublisher(events: Events, secrets: Pick<Secrets, 'redactJson'>, declaration: Declaration): Events['publish'] {
  const durable = new Set<string>(DURABLE_TOPICS);
  const declared = new Set(declaration.manifest?.events.publishes);
  const publish = (topic: Topic, payload: TopicMap[Topic], options?: PublishOptions): unknown => {
    const refused = refusal(declaration, declared, topic, durable.has(topic));
    if (refused && durable.has(topic)) return Promise.reject(refused);
    if (refused) throw refused;
    const clean = secrets.redactJson(OF_ITSELF.has(topic) ? { ...payload, extensionId: declaration.id } : payload);
    if (!durable.has(topic)) return runOutside(() => (events.publish as (...values: unknown[]) => void)(topic, clean));
    const correlationId = options?.correlationId ?? currentCorrelation();
    return runOutside(() =>
      events.publish(topic as 'notify', clean as TopicMap['notify'], {
        ...options,
        ...(correlationId === undefined ? {} : { correlationId }),
      }),
    );
  };
  return publish as Events['publish'];
}

function refusal({ id, file }: Declaration, declared: ReadonlySet<string>, topic: string, isDurable: boolean): PithError | null {
  if (KERNEL_ONLY.has(topic)) {
    return new PithError('not_allowed', `'${id}' publishes '${topic}', which only the kernel does`, {
      where: file,
      cure: 'publish another topic',
    });
  }
  if (!isDurable || declared.has(topic)) return null;
  return new PithError(
    'not_declared',
    `'${id}' publishes '${topic}', which its manifest does not declare${didYouMean(topic, [...declared])}`,
    {
      where: file,
      cure: `add ${topic} to 'events.publishes'`,
    },
  );
}

/** Durable topics carry people's words: who hears them says so in its manifest, where a person reads it. */
export function refusedListening({ id, file, manifest }: Declaration, topic: string): PithError | null {
  const declared = manifest?.events.handles.map((each) => each.topic) ?? [];
  if (!(DURABLE_TOPICS as readonly string[]).includes(topic) || declared.includes(topic)) return null;
  return new PithError('not_declared', `'${id}' listens to '${topic}', which its manifest does not declare${didYouMean(topic, declared)}`, {
    where: file,
    cure: `add ${topic} with its handler to 'events.handles'`,
  });
}
