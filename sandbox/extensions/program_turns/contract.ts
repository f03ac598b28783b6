import { defineProtocol, type JsonValue, stream, type TurnEvent } from 'pith';
import type { Caller } from 'pith/http';

/** A tool that the program runs: a call of it ends the turn, and the next one brings its result. */
export interface ProgramTool {
  /** Matches `^[a-zA-Z0-9_-]{1,64}$`. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

interface GivenCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

/** A message of a program, by whichever protocol. Images are in base64. */
export type GivenMessage =
  | { readonly role: 'user'; readonly text: string; readonly images: readonly { readonly mediaType: string; readonly data: string }[] }
  | { readonly role: 'system'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly GivenCall[] }
  | { readonly role: 'tool'; readonly callId: string; readonly text: string };

export interface ProgramRequest {
  /** Who asks, by their token alone. */
  readonly by: Pick<Caller, 'userId' | 'role'>;
  readonly agent: string;
  readonly channelId: string;
  /** Goes on in this thread, which is the user's. null: in the one whose calls the results at the end are for, else in a new one. */
  readonly threadId: string | null;
  /** Of a thread that is begun where `threadId` is null, or of the user's that has it; absent: a new one. */
  readonly newThreadId?: string;
  /** All that the program has of the conversation. The last is of the user, or a result of a tool. */
  readonly messages: readonly GivenMessage[];
  readonly tools: readonly ProgramTool[];
  /** The JSON Schema of the answer; absent: any text. */
  readonly output?: Readonly<Record<string, unknown>>;
}

/** A call of a program's tool. Its id says to which thread it belongs. */
export interface ProgramCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
}

/** A question that a person answers before the turn goes on. */
export interface ProgramQuestion {
  readonly id: string;
  /** `extension/tool`. */
  readonly tool: string;
  readonly input: JsonValue;
  /** What is asked and the command that answers it, for people. */
  readonly text: string;
}

export interface ProgramEnd {
  readonly type: 'end';
  /** `calls`: the program is to run `calls`; `approval`: `questions` wait for a person. */
  readonly reason: 'done' | 'limit' | 'aborted' | 'error' | 'calls' | 'approval';
  readonly calls: readonly ProgramCall[];
  readonly questions: readonly ProgramQuestion[];
  /** Why the answer is not whole. */
  readonly cut: 'length' | 'filter' | null;
  /** Of the turn so far, with all that it called and what it took before it waited. */
  readonly usage: Extract<TurnEvent, { type: 'turn-end' }>['usage'];
  readonly error?: Extract<TurnEvent, { type: 'turn-end' }>['error'];
}

/** `thread` comes first and `end` last. Calls of the program's own tools are in `end` alone. */
export type ProgramEvent = { readonly type: 'thread'; readonly threadId: string } | Exclude<TurnEvent, { type: 'turn-end' }> | ProgramEnd;

/** Runs agents for programs that speak a protocol of their own. */
export interface ProgramTurns {
  /**
   * A turn that waits goes on: with the results of its calls, once its questions are answered, and where its process ended. Where somebody else
   * has gone on with it, its end is told instead. A message that differs from its own comes after it. A message never answers a question: one that comes before the answer takes the place of the turn.
   * Throws `agent_unknown`, `thread_unknown` (also for what is another user's), `usage`, and `settings_invalid` for a schema that cannot be used.
   */
  run(request: ProgramRequest, signal?: AbortSignal): AsyncIterable<ProgramEvent>;
}

export const ProgramTurns = defineProtocol<ProgramTurns>('program.turns', { run: stream({ signalAt: 1 }) }, { inProcessOnly: true });
