import type { JsonValue } from '../../contract/index.ts';

export type ApprovalAnswer = 'once' | 'always' | 'no';

/** A turn on the way from the person to a question. */
export interface AskingTurn {
  readonly agentId: string;
  readonly turnId: string;
  readonly threadId: string;
  /** Extensions outside the kernel from which it comes; absent: it comes from none. */
  readonly startedBy?: readonly string[];
}

/** Ids of the extensions outside the kernel that began a turn on the way to a question. */
export function startersOfPath(path: readonly AskingTurn[]): readonly string[] {
  return [...new Set(path.flatMap(({ startedBy = [] }) => startedBy))];
}

/** What a call asks a person. Its fields never change; only the answer is added, once. */
export interface Question {
  readonly id: string;
  /** The call that waits. */
  readonly turnId: string;
  readonly step: number;
  readonly index: number;
  /** The thread in which the person talks: that of the outermost turn. */
  readonly rootThreadId: string;
  /** The thread of the turn that asks. */
  readonly threadId: string;
  /** `extension/tool`. */
  readonly tool: string;
  readonly input: JsonValue;
  /** SHA-256 of the exact input. */
  readonly digest: string;
  /** What the tool wants a person to read beside the input. */
  readonly details: string | null;
  /** What a yes is for beside the input: it holds for nothing else; null: for the input alone. */
  readonly subject: string | null;
  /** What an `always` covers: `input:`, `subject:` or `tool:` and what names it. A later call with the same one is not asked about. null: it is not offered. */
  readonly always: string | null;
  /** Digest of the extension's sources that were to run; null: not known. */
  readonly source: string | null;
  /** The outermost turn first, the asking one last. */
  readonly path: readonly AskingTurn[];
  readonly channelId: string;
  readonly userId: string;
  readonly correlationId: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface Approval extends Question {
  /** null while it is open. */
  readonly answer: ApprovalAnswer | null;
  /** Why not, in the words that the model sees. */
  readonly reason: string | null;
  /** Who answered; null when nobody did in time. */
  readonly by: string | null;
  readonly answeredAt: number | null;
}

export interface ApprovalReply {
  readonly answer: ApprovalAnswer;
  readonly reason?: string;
  readonly by: string;
}

/** What people are asked and what they answered. Reads are synchronous; a write is on disk when its promise resolves. */
export interface Approvals {
  /** Open questions, oldest first; of one conversation when its thread is named. */
  list(rootThreadId?: string): readonly Approval[];
  get(id: string): Approval | null;
  /** Exactly one answer is taken. Rejects `approval_unknown`, `approval_answered` with who was first, or `not_allowed` for an `always` that is not offered. */
  answer(id: string, reply: ApprovalReply): Promise<Approval>;
}
