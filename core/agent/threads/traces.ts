/** What a name stands for: the newest turn of it, and those before, the oldest first. */
export interface Trace {
  readonly turn: TracedTurn;
  readonly earlier: readonly TurnHead[];
}

/** A turn without what it did. Times are milliseconds; null: not known, or not yet. */
export interface TurnHead {
  readonly id: string;
  readonly threadId: string;
  readonly agentId: string;
  readonly correlationId: string;
  readonly state: string;
  readonly began: number;
  readonly ended: number | null;
  /** With that of the turns that it called. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What a turn did and when, from what is kept. */
export interface TracedTurn extends TurnHead {
  readonly steps: readonly TracedStep[];
  /** Turns of the same message that no call of this one has below it. */
  readonly turns: readonly TracedTurn[];
}

export interface TracedStep {
  readonly step: number;
  readonly model: string | null;
  readonly began: number | null;
  readonly ended: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly calls: readonly TracedCall[];
}

export interface TracedCall {
  /** As the message that asked for it has it. */
  readonly id: string;
  readonly name: string;
  readonly extensionId: string;
  readonly state: string;
  readonly began: number | null;
  readonly ended: number | null;
  /** null: there is no result yet. */
  readonly ok: boolean | null;
  readonly error: string | null;
  /** What the tool calls this call. */
  readonly title: string | null;
  readonly approvals: readonly { readonly asked: number; readonly answered: number | null; readonly answer: string | null }[];
  /** Those that it called. */
  readonly turns: readonly TracedTurn[];
}
