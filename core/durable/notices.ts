import { counted } from '@pith/plain-text';
import {
  type ChannelMessage,
  type ChannelProvider,
  type Clock,
  codeOf,
  type Delivery,
  type JsonValue,
  type Logger,
  messageOf,
  type Remote,
  type TopicMap,
} from '../contract/index.ts';
import type { Deliveries } from './sqlite-deliveries.ts';
import { Postponed } from '../kernel/index.ts';

export interface NoticesOptions {
  readonly journal: { readonly deliveries: Pick<Deliveries, 'event' | 'missed' | 'isSettled'> };
  readonly clock: Clock;
  readonly logger: Logger;
  /** The handler's name in deliveries. */
  readonly handler: string;
  /** The text of a question; `wait` while somebody is about to answer it, `settled` when it is no longer open. */
  question(approvalId: string): Promise<{ readonly text: string } | 'wait' | 'settled'>;
  /** The running channels. */
  channels(): readonly Remote<ChannelProvider>[];
}

const DAY_MS = 86_400_000;

/** Sends notices and questions to people, one after the other, by every suitable channel. */
export function createNotices({ journal, clock, logger, handler, channels, question }: NoticesOptions) {
  let reachable = false;
  /** Since when somebody is there who has not been notified of earlier events; null: nobody. */
  let greets: number | null = null;

  /** Rejects `Postponed` when nobody can be reached: the message waits and does not count as failed. */
  async function send(message: ChannelMessage, target: string | null, signal: AbortSignal): Promise<void> {
    const open = channels();
    const fitting = target === null ? open : open.filter(({ kinds }) => kinds.includes(target));
    const places = (fitting.length > 0 ? fitting : open).flatMap((channel) =>
      (target === null ? channel.kinds : [target]).map((place) => ({ channel, place })),
    );
    const results = await Promise.allSettled(places.map(({ channel, place }) => channel.deliver(message, place)));
    signal.throwIfAborted();
    if (results.some(({ status }) => status === 'fulfilled')) return;
    reachable = false;
    const why = results.flatMap((result) => (result.status === 'rejected' ? [messageOf(result.reason)] : []));
    logger.debug('a notice waits for a channel', { why });
    throw new Postponed(new Error(`nobody could be reached${why.length > 0 ? `: ${why.join('; ')}` : ''}`));
  }

  async function ask(asked: TopicMap['approval.requested'], signal: AbortSignal): Promise<void> {
    const state = await question(asked.approvalId);
    if (state === 'wait') throw new Postponed(new Error('somebody is being asked elsewhere'), true);
    if (state !== 'settled') await send(questionOf(asked, state.text), null, signal);
  }

  async function settle(about: TopicMap['notice.settled']['about']): Promise<void> {
    const settled = channels().map((channel) =>
      channel.settle?.(about).catch((error: unknown) => {
        if (codeOf(error, '') !== 'not_declared') throw error; // else it keeps nothing, as most do
      }),
    );
    await Promise.all(settled);
  }

  async function greet(since: number, signal: AbortSignal): Promise<void> {
    greets = null;
    const { recent, old } = journal.deliveries.missed(handler, since, clock.now() - DAY_MS);
    const left = old === 0 ? '' : `; ${old} older than a day ${old === 1 ? 'is' : 'are'} left out`;
    if (recent + old < 2) return;
    await send({ kind: 'notices', text: `${counted(recent, 'notice')} came while nobody was here${left}` }, null, signal);
  }

  return {
    /** False while nobody can be reached. */
    get reachable(): boolean {
      return reachable;
    },
    /** A channel opened, or may have. `greetsNow`: somebody is there now who was not. */
    opened(greetsNow: boolean): void {
      reachable = channels().length > 0;
      if (greetsNow && reachable) greets ??= clock.now();
    },
    async deliver(payload: JsonValue, { id, topic }: Omit<Delivery, 'signal'>, signal: AbortSignal): Promise<void> {
      if (greets !== null) await greet(greets, signal);
      if (topic === 'notice.settled') return settle((payload as unknown as TopicMap['notice.settled']).about);
      const event = journal.deliveries.event(handler, Number(id));
      if (event !== null && event.at <= clock.now() - DAY_MS) return;
      if (topic === 'approval.requested') return ask(payload as unknown as TopicMap['approval.requested'], signal);
      const { text, kind, target, threadId, userId, about } = payload as unknown as TopicMap['notify'];
      if (isThing(about) && journal.deliveries.isSettled(about, Number(id))) return;
      const known = { ...(userId === null ? {} : { userId }), ...(threadId === null ? {} : { threadId }), ...(about && { about }) };
      await send({ text, kind, ...known }, target, signal);
    },
  };
}

/** Any extension says what its notice tells of: it may be no such thing. */
function isThing(about: unknown): about is TopicMap['notice.settled']['about'] {
  const { kind, id } = Object(about) as Readonly<Record<'kind' | 'id', unknown>>;
  return typeof kind === 'string' && typeof id === 'string';
}

function questionOf({ threadId, approvalId, userId }: TopicMap['approval.requested'], text: string): ChannelMessage {
  return { kind: 'approval', text, userId, threadId, approvalId };
}
