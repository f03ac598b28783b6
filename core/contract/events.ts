import type { Failure } from './diagnostic.ts';
import type { TurnEndReason, Usage } from './turn.ts';

/** Every topic and its payload. A topic is a fact in the past tense. Extensions publish and handle these and no others. */
export interface TopicMap {
  'extension.activated': { readonly extensionId: string; readonly generation: number };
  'extension.failed': Failure;
  'extension.reloaded': { readonly extensionId: string; readonly generation: number };
  'extension.stopped': { readonly extensionId: string };
  'agent.changed': { readonly agentId: string; readonly state: 'active' | 'degraded' | 'failed' | 'removed' };
  'skills.changed': { readonly added: readonly string[]; readonly changed: readonly string[]; readonly removed: readonly string[] };
  /** An extension's `getTools` answers something else now; the host asks it again. */
  'tools.changed': { readonly extensionId: string };
  'turn.started': { readonly turnId: string; readonly threadId: string; readonly agentId: string; readonly correlationId: string };
  'turn.ended': {
    readonly turnId: string;
    readonly threadId: string;
    readonly reason: TurnEndReason;
    readonly usage: Usage;
    readonly correlationId: string;
  };
  'tool.called': {
    readonly turnId: string;
    readonly extensionId: string;
    readonly tool: string;
    readonly ok: boolean;
    readonly ms: number;
    readonly correlationId: string;
  };
  'thread.compacted': { readonly threadId: string; readonly messages: number; readonly tokensBefore: number; readonly tokensAfter: number };
}

export type Topic = keyof TopicMap;

export const TOPICS = [
  'extension.activated',
  'extension.failed',
  'extension.reloaded',
  'extension.stopped',
  'agent.changed',
  'skills.changed',
  'tools.changed',
  'turn.started',
  'turn.ended',
  'tool.called',
  'thread.compacted',
] as const satisfies readonly Topic[];

export type Off = () => void;

/** Typed topics. A listener that throws or waits never delays or breaks another. */
export interface Events {
  publish<T extends Topic>(topic: T, payload: TopicMap[T]): void;
  /** Returns its off. What an extension handles ends with the extension. */
  handle<T extends Topic>(topic: T, listener: (payload: TopicMap[T]) => void | Promise<void>): Off;
}
