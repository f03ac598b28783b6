import type { LanguageModelV3Message } from '@ai-sdk/provider';
import type { JsonValue } from './errors.ts';

/** An agent as frozen plain data, whether declared, read from an AGENT.md or made at run time. */
export interface AgentSpec {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** An alias (`default`, `fast`, …) or `provider/model`. */
  readonly model: string;
  /** How much the model thinks before it answers; absent: as the settings say, else as its provider does. */
  readonly effort?: 'off' | 'low' | 'medium' | 'high';
  readonly integrationMode: 'tool' | 'none';
  /** Inline instructions, which come last. */
  readonly instructions: string;
  /** The text of the prompt template and its file; null without one. */
  readonly prompt: string | null;
  readonly promptFile: string | null;
  /** The extension whose process renders the prompt. Written by the kernel alone; absent where the kernel renders. */
  readonly promptBy?: string;
  readonly usesTools: readonly string[];
  /** As `usesTools`, but given to the model only once its tool `find_tools` has found them. */
  readonly findsTools?: readonly string[];
  readonly usesSkills: readonly string[];
  readonly delegatesTo: readonly string[];
  /** Per turn, including its calls: `max_turns` are model steps, `max_tokens` those of input and output. */
  readonly limits: Readonly<Record<'max_turns' | 'max_tool_calls' | 'max_tokens' | 'time_budget_ms', number>>;
  /** Values under `agent:` that extensions own, by key (`skills`, …), unchecked by the kernel. */
  readonly keys: Readonly<Record<string, unknown>>;
  /** The file that declares it; null when it was made at run time. */
  readonly origin: string | null;
  /** Set when code outside the kernel declares it: its turns start there. Written by the kernel alone. */
  readonly declaredBy?: { readonly extensionId: string; readonly ownOnly: boolean };
}

/** A message in the form of models and threads: plain JSON. */
export type Message = LanguageModelV3Message;
export type Usage = Readonly<Record<'inputTokens' | 'outputTokens', number>>;

/** Limits of one turn below its agent's: a channel, task or saved skill can only narrow. `maxCost`: dollars; a model without a price is refused. */
export interface TurnPolicy {
  /** `extension/tool` or extension ids; absent: all tools of the agent. */
  readonly allowTools?: readonly string[];
  readonly denyTools?: readonly string[];
  readonly limits?: Partial<AgentSpec['limits']>;
  readonly maxCost?: number;
  /** Both override the agent's. */
  readonly model?: string;
  readonly effort?: AgentSpec['effort'];
  /** Only tools with the effect `read` run: a plan is made, and nothing changed. */
  readonly readOnly?: true;
  /** The saved skill that this turn runs, by `owner/name` or its name: tools with `permission.onlyForSkills` run only if it is listed. */
  readonly savedSkill?: string;
  /** Extensions outside the kernel that began this turn or one above it, written by the kernel. `ownOnly`: it has at most that one's tools and contexts. */
  readonly startedBy?: readonly { readonly extensionId: string; readonly ownOnly: boolean }[];
}

/** An image in base64; `mediaType` is `image/png`, `image/jpeg`, `image/gif` or `image/webp`. */
export interface ImageBytes {
  readonly mediaType: string;
  readonly data: string;
}

export interface TurnRequest {
  readonly agent: string | AgentSpec;
  /** The user's text. Absent only together with `resume`. */
  readonly input?: string;
  /** Sent and stored with the text. `name` is the user's name for it: a path, `stdin`. */
  readonly attachments?: readonly ({ readonly name: string } & ({ readonly text: string } | { readonly image: ImageBytes }))[];
  /** What was said before, where the thread is new: messages of users, assistants and tools. */
  readonly history?: readonly Message[];
  readonly threadId: string;
  /** What a new thread is called; absent: by the beginning of `input`. */
  readonly title?: string;
  readonly channelId?: string;
  /** The channel's id of the message, for its `react`; absent: the parent's. */
  readonly messageId?: string;
  readonly userId?: string;
  /** Limits of this turn. Pass it on to work that is done later. */
  readonly policy?: TurnPolicy;
  /** The calling turn, as its tool got it: this turn's use counts against its limits, and it ends with it. */
  readonly parent?: TurnInfo;
  /** Continues the thread's unfinished turn instead of beginning one. */
  readonly resume?: boolean;
  /** Identifies this turn in its thread, as its id does: a repeated request continues it or repeats its answer. Tools pass the `idempotencyKey` of their call. */
  readonly key?: string;
  /** Identifies the message that caused it, for later work; absent: the parent's, else that of the requesting call, else a new one. */
  readonly correlationId?: string;
  /** Seals what is said and called in this thread and below it. For extensions in Pith's own process only. */
  readonly seal?: TurnSeal;
}

/** Makes texts unreadable in the database, and readable again; `open` rejects where it cannot. */
export interface TurnSeal {
  seal(text: string): Promise<string>;
  open(sealed: string): Promise<string>;
}

/** A turn's facts for providers and tools. Plain data; `tools`, `held`, `bound` and `compactions` are of the moment it is passed on. */
export interface TurnInfo extends Pick<TurnRequest, 'threadId' | 'messageId' | 'key' | 'policy'> {
  readonly id: string;
  readonly agent: AgentSpec;
  readonly channelId: string;
  readonly userId: string;
  /** `extension/tool` of every tool that this turn can call. */
  readonly tools: readonly string[];
  readonly model: { readonly ref: string; readonly contextWindow: number | null };
  /** The user's last texts, newest last, this turn's included; at most five. */
  readonly userTexts: readonly string[];
  /** How often this thread has been compacted: earlier messages may be gone. */
  readonly compactions: number;
  /** What is complete in the conversation: results with `retain`, and documents of messages. */
  readonly held: readonly Retain[];
  /** Ids and digests of the skills with bodies in the instructions (`uses_skills`). Empty until they are read, and outside of a turn. */
  readonly bound: readonly Retain[];
  /** Identifies this message and all that it causes. */
  readonly correlationId: string;
  /** 0 for a person's own turn, one more for each delegation. */
  readonly depth: number;
}

export type TurnEndReason = 'done' | 'limit' | 'aborted' | 'error' | 'awaiting_approval';

/** A turn's events for its channel. A turn never throws; its last event is always `turn-end`. */
export type TurnEvent =
  | { readonly type: 'turn-start'; readonly agent: string; readonly thread: string; readonly turn: string; readonly model: string }
  | { readonly type: 'notice'; readonly code: string; readonly message: string }
  /** The message contains a whole text, described in one line by its extension. */
  | { readonly type: 'document'; readonly extension: string; readonly key: string; readonly label: string }
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'tool-call'; readonly id: string; readonly name: string; readonly input: JsonValue }
  | {
      readonly type: 'tool-result';
      readonly id: string;
      readonly name: string;
      readonly ok: boolean;
      readonly at: number;
      readonly output?: JsonValue;
      readonly error?: { readonly code: string; readonly message: string };
      readonly title?: string;
      readonly metadata?: JsonValue;
      /** The tool's own line for a terminal. */
      readonly line?: string;
      readonly retain?: Retain;
    }
  /** A tool's output while its call `id` runs (`tool.progressed`). Not stored. */
  | { readonly type: 'tool-output'; readonly id: string; readonly text: string }
  | {
      readonly type: 'approval-request';
      /** The id for `pith approvals approve`. `tool`: `extension/tool`. `digest`: SHA-256 of the exact input. */
      readonly id: string;
      readonly tool: string;
      readonly input: JsonValue;
      readonly digest: string;
      /** The agents that led to the question, the one in the person's thread first. */
      readonly agents: readonly string[];
      readonly thread: string;
      /** Extensions outside the kernel that began the turn, or one above it; absent: none did. */
      readonly startedBy?: readonly string[];
      /** From the tool's `ApprovalQuestion`; `details` is its text. */
      readonly summary?: string;
      readonly details?: string;
      readonly enforced?: string;
      /** What `always` would cover, where that is more than this very call. */
      readonly covers?: string;
      /** Only `once` and `no` answer it, not `always`. */
      readonly once?: true;
    }
  /** `usage`: of the turn so far, with all its calls; `request`: of this one request to its model. */
  | { readonly type: 'step-end'; readonly step: number; readonly usage: Usage; readonly request: Usage }
  | {
      readonly type: 'turn-end';
      readonly reason: TurnEndReason;
      readonly text: string;
      readonly usage: Usage;
      /** The message ends with the cure. `retryAfterMs`: after which the model's server takes requests again. `limit`: as in manifests, or `cost`. */
      readonly error?: Readonly<{ code: string; message: string; cure?: string; retryAfterMs?: number; limit?: string }>;
    };

/** What a result is a copy of, which compaction should keep. */
export interface Retain {
  readonly key: string;
  readonly digest: string;
}
