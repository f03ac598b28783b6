import { defineProtocol } from '../protocol.ts';
import type { TurnEndReason, TurnInfo } from '../turn.ts';

/** Told where each turn begins and ends that asks anything else of this extension, so that what it keeps for a turn is kept in one place. */
export interface TurnProvider {
  /**
   * Comes before the turn asks for context, tools or a call. It comes again for a turn that goes on after a question or a restart: whoever
   * keeps something for `turn.id` begins with what it has. Cut after one second; a throw changes nothing for the turn.
   */
  beginTurn?(turn: TurnInfo): void | Promise<void>;
  /** Comes once for each `beginTurn`, however the turn ends; `awaiting_approval`: it may go on. Does not come when the program was killed. Cut after one second. */
  endTurn?(turn: TurnInfo, reason: TurnEndReason): void | Promise<void>;
}

export const TurnProvider = defineProtocol<TurnProvider>(
  'turn',
  {
    beginTurn: { kind: 'method', signature: 'beginTurn(turn: TurnInfo): void', optional: true, timeoutMs: 1000 },
    endTurn: { kind: 'method', signature: 'endTurn(turn: TurnInfo, reason: TurnEndReason): void', optional: true, timeoutMs: 1000 },
  },
  { inProcessOnly: true },
);
