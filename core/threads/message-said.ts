import type { DurableTopicMap, PublishOptions } from '../contract/index.ts';
import type { TurnRecord } from './thread.ts';

/** The event of a person's message, in order within its thread. */
export function messageSaid(turn: TurnRecord, text: string): [DurableTopicMap['user.message'], PublishOptions] {
  const { id: turnId, threadId, agent, channelId, userId, correlationId } = turn;
  const shown = text.length > MOST_CHARACTERS ? text.slice(0, MOST_CHARACTERS) : text;
  return [
    { v: 1, threadId, turnId, agentId: agent.id, channelId, userId, text: shown },
    { key: threadId.slice(0, 512).replaceAll('\0', ' '), correlationId },
  ];
}

/** What fits an event in every script, JSON escapes included; the thread has the rest. */
const MOST_CHARACTERS = 40_000;
