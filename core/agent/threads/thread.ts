import {
  type AgentSpec,
  type JsonValue,
  type Message,
  PithError,
  type Tool,
  type ToolResult,
  type TopicMap,
  type TurnPolicy,
  type TurnSeal,
} from '../../contract/index.ts';
import type { Fence } from '../../store/index.ts';
import { isPlainMap } from '@pith/plain-data';
import type { Trace } from './traces.ts';

export type Retain = NonNullable<Extract<ToolResult, { ok: true }>['retain']>;
export type TurnEndReason = TopicMap['turn.ended']['reason'];
/** `cost`: dollars; absent: of a part of it the price is not known. */
export type Usage = TopicMap['turn.ended']['usage'] & { readonly cost?: number };

export interface ThreadRecord {
  readonly id: string;
  readonly agentId: string;
  /** The day the thread began, `YYYY-MM-DD`: prompts print it, so that their bytes do not change at midnight. */
  readonly date: string;
  /** The first user text, cut, until a person gives another. */
  readonly title: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly compactions: number;
  /** The thread that it begins like; null: it is no branch. */
  readonly branchOf: string | null;
  /** Whose it is; absent where the store does not keep it apart from the turns. */
  readonly userId?: string;
}

export interface StoredMessage {
  readonly seq: number;
  readonly turnId: string;
  readonly message: Message;
  /** By tool call id, for tool messages whose results asked to be kept. */
  readonly retain: Readonly<Record<string, Retain>>;
}

export type TurnState = 'running' | TurnEndReason;

export interface TurnRecord {
  readonly id: string;
  readonly threadId: string;
  readonly agent: AgentSpec;
  readonly channelId: string;
  readonly messageId?: string;
  readonly userId: string;
  readonly policy: TurnPolicy;
  readonly correlationId: string;
  readonly depth: number;
  readonly state: TurnState;
  /** Model steps that have been persisted. */
  readonly steps: number;
  readonly usage: Usage;
  readonly startedAt: number;
  /** What its caller names it by; null for one without. */
  readonly key: string | null;
  /** Its span where it began, as W3C writes it; absent: nobody collected spans there. */
  readonly traceparent?: string;
}

/** What the turns that a turn called have done, and those that they called. */
export interface Delegated {
  /** Called by this turn itself. */
  turns: number;
  steps: number;
  calls: number;
}

export type CallState = 'requested' | 'started' | 'finished';

/** One tool call, keyed turn/step/index. */
export interface CallRecord {
  readonly turnId: string;
  readonly step: number;
  readonly index: number;
  readonly callId: string;
  /** The name the model used. */
  readonly name: string;
  readonly extensionId: string;
  readonly tool: string;
  readonly input: JsonValue;
  readonly effect: NonNullable<Tool['effect']>;
  readonly state: CallState;
  readonly result: ToolResult | null;
}

/** A turn that has not ended, and its calls. */
export interface Unfinished {
  readonly turn: TurnRecord;
  readonly calls: readonly CallRecord[];
}

export interface InspectedThread {
  readonly messages: readonly StoredMessage[];
  /** `seq`: of a message; null: a row of a turn. */
  readonly unreadable: readonly { readonly seq: number | null; readonly what: string }[];
  /** The turn that has not ended, whose last calls may be open; null: there is none, or it cannot be read. */
  readonly openTurn: string | null;
  /** That turn waits for nobody: it is being worked on, or its process ended before it did. */
  readonly isRunning: boolean;
}

/** What threads keep. */
export interface Threads {
  /** The thread without its messages. */
  find(threadId: string): Promise<ThreadRecord | null>;
  load(threadId: string): Promise<{ readonly thread: ThreadRecord; readonly messages: readonly StoredMessage[] } | null>;
  /** Its messages as far as they can be read, and what cannot: of them, and of what its turns keep. */
  inspect(threadId: string): Promise<InspectedThread | null>;
  /** Newest first. */
  list(limit: number): Promise<readonly ThreadRecord[]>;
  /** The thread's turn that has not ended (state `running` or `awaiting_approval`), or null. */
  unfinished(threadId: string): Promise<Unfinished | null>;
  /** The turn of the thread's newest message, or null. */
  last(threadId: string): Promise<TurnRecord | null>;
  /** The thread's turn of this key or id and its calls, ended or not, or null. */
  keyed(threadId: string, key: string): Promise<Unfinished | null>;
  /** What its turns, or those that began at `since` or later, and those that they called have used, by the model that answered; null: not known, for turns of a Pith that did not note it. */
  usage(threadId: string, since?: number): Promise<readonly (Usage & { readonly model: string | null })[]>;
  /** By a turn of the thread, as it was last charged; zeros where it never was. */
  delegated(threadId: string, turnId: string): Promise<Delegated>;
  /** What a turn did and when, without what was said: of the last `most` turns that have this id or thread, or an id that begins so; null: of the last turn of all. */
  trace(named: string | null, most: number): Promise<Trace | null>;
  /** For whoever holds a thread: each write rejects with `thread_busy` once somebody else holds it, and leaves no trace then. */
  writer(fence: Fence): ThreadWriter;
  /** Until the returned function is called, what a thread keeps is sealed, and what is sealed of it is opened. */
  sealWith?(threadId: string, seal: TurnSeal): () => void;
}

/** What a turn has used with all that it called. */
export interface Charge {
  readonly turnId: string;
  readonly delegated: Delegated;
  readonly usage: Usage;
  /** Of the thread of that turn. */
  readonly fence: Fence;
}

/** A turn as it begins. */
interface BeginningTurn {
  /** Made if it is new. */
  readonly thread: Pick<ThreadRecord, 'id' | 'agentId' | 'date' | 'title'>;
  readonly turn: TurnRecord;
  readonly messages: readonly Message[];
  /** What a person said, as an event. */
  readonly said?: string;
  /** The turns that wait for it: a restart must not give back to them what was used. */
  readonly callers?: readonly Charge[];
}

/** One model step as it is kept. */
interface StepRecord extends Pick<BeginningTurn, 'callers'> {
  readonly step: number;
  /** The assistant's. */
  readonly message: Message;
  /** Those that it asks for: `started` where a call begins at once and must not be repeated. */
  readonly calls: readonly CallRecord[];
  /** Of the turn so far. */
  readonly usage: Usage;
  /** What the turn itself has used since the step before, and the `provider/model` that answered. */
  readonly own: Usage;
  readonly model: string;
  /** From the request to the end of the answer; absent: not known. */
  readonly took?: { readonly began: number; readonly ended: number };
  /** The turn ends with this step. */
  readonly end?: TurnEndReason;
}

/** A thread that begins like another one. */
export interface Branch {
  /** Of the new thread. */
  readonly id: string;
  readonly of: string;
  readonly before: number | null;
  readonly title: string;
}

/** A write is one commit, on disk when its promise resolves. */
export interface ThreadWriter {
  beginTurn(begun: BeginningTurn): Promise<void>;
  recordStep(turnId: string, step: StepRecord): Promise<void>;
  /** `requested`: it waits for somebody's answer, and will be run again, whatever its effect. */
  setCall(call: Pick<CallRecord, 'turnId' | 'step' | 'index'>, state: 'requested' | 'started'): Promise<void>;
  /** `began`: when it was run; absent: it was not. */
  finishCall(call: Pick<CallRecord, 'turnId' | 'step' | 'index'>, result: ToolResult, began?: number): Promise<void>;
  /** The tool message that answers a step, after its calls have finished. */
  recordResults(turnId: string, message: Message, retain: Readonly<Record<string, Retain>>): Promise<void>;
  setState(turnId: string, state: TurnState, usage: Usage): Promise<void>;
  /** Replaces all messages up to `throughSeq` by `replacement` and counts one compaction. */
  compact(threadId: string, throughSeq: number, replacement: readonly Pick<StoredMessage, 'message' | 'retain'>[]): Promise<void>;
  /** All its messages from now on, in this order, and no row that cannot be read: a turn whose rows go has ended. */
  rewrite(threadId: string, messages: readonly Omit<StoredMessage, 'seq'>[]): Promise<void>;
  rename(threadId: string, title: string): Promise<void>;
  /** Makes a thread of what another one has before the message `before` (null: all of it); what it has begun stays there. */
  branch(branch: Branch): Promise<void>;
  /** Deletes all of it, and the threads of what it called. */
  remove(threadId: string): Promise<void>;
}

export function unknownThread(threadId: string): PithError {
  return new PithError('thread_unknown', `there is no thread '${threadId}'`, { where: threadId, cure: 'see: pith threads list' });
}

/** Whether a value is a message: its parts are those that messages of its role have. */
export function isMessage(value: unknown): boolean {
  if (!isPlainMap(value) || !(value['providerOptions'] === undefined || isPlainMap(value['providerOptions']))) return false;
  const { role, content } = value;
  if (role === 'system') return typeof content === 'string';
  const isKnown = role === 'user' || role === 'assistant' || role === 'tool';
  return isKnown && Array.isArray(content) && content.every((part) => isPlainMap(part) && isPartOf(role, part));
}

function isPartOf(role: unknown, part: Readonly<Record<string, unknown>>): boolean {
  const { type, text, toolCallId, toolName, input, output, mediaType } = part;
  const isNamed = typeof toolCallId === 'string' && typeof toolName === 'string';
  if (role === 'tool') return type === 'tool-result' && isNamed && isPlainMap(output) && typeof output['type'] === 'string';
  if (role === 'user') return type === 'text' ? typeof text === 'string' : type === 'file' && typeof mediaType === 'string';
  return type === 'tool-call' ? isNamed && input !== undefined : (type === 'text' || type === 'reasoning') && typeof text === 'string';
}
