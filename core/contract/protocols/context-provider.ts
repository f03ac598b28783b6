import { defineProtocol } from '../protocol.ts';
import type { TurnInfo } from '../turn.ts';

/** A whole text that a message needs, such as the instructions of a skill. */
export interface ContextDocument {
  /** Names it among those of its provider. */
  readonly key: string;
  /** Changes with the text. */
  readonly digest: string;
  readonly text: string;
  /** Said in the message where the text has no room, such as how it can be had; else only that it is left out. */
  readonly instead?: string;
  /** What people are told in one line when the text is given. */
  readonly line?: string;
}

/** Text for both places at once, for a provider that has a stable part and one that depends on the message. */
export interface ContextParts {
  /** Stands in the system text. Must not depend on the user's message: identical inputs give identical bytes. */
  readonly system?: string;
  /** Stands after the history, before the user's text, and is stored with that message. At most 400 tokens. */
  readonly turn?: string;
  /**
   * Stand before the turn part and are stored with the message, never cut. All of a turn together fill at most a quarter of the model's window
   * (50,000 tokens where it is not known): those that do not fit are left out, which the message and a notice say, and `turn.started` names those that stand in it. Once `turn.compactions` has grown, they may be gone.
   */
  readonly documents?: readonly ContextDocument[];
}

/** Puts text before the model on every turn. */
export interface ContextProvider {
  /** Ascending order among all providers: channel 0, skill catalog 60, memory 100. */
  readonly contextPriority: number;
  /** Where a plain string goes; default `system`. */
  readonly placement?: 'system' | 'turn';
  /** null adds nothing. Cut after one second; a throw leaves this provider out of the turn. */
  getContext(prompt: string, turn: TurnInfo, signal?: AbortSignal): Promise<string | ContextParts | null>;
}

export const ContextProvider = defineProtocol<ContextProvider>(
  'context',
  {
    contextPriority: { kind: 'constant', signature: 'contextPriority: number' },
    placement: { kind: 'constant', signature: "placement: 'system' | 'turn'", optional: true },
    getContext: {
      kind: 'method',
      signature: 'getContext(prompt: string, turn: TurnInfo): Promise<string | ContextParts | null>',
      timeoutMs: 1000,
      signalAt: 2,
    },
  },
  { inProcessOnly: true },
);
