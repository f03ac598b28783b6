import type { LanguageModelV3Message } from '@ai-sdk/provider';
import type { JsonValue } from './errors.ts';

/** An agent as frozen plain data: declared, read from an AGENT.md or made at run time, it is always this value. */
export interface AgentSpec {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** An alias (`default`, `fast`, …) or `provider/model`. */
  readonly model: string;
  readonly integrationMode: 'tool' | 'none';
  /** Inline instructions; they are last. */
  readonly instructions: string;
  /** The text of the prompt template and its file, or null where the agent has none. */
  readonly prompt: string | null;
  readonly promptFile: string | null;
  /** The extension whose prompt it is: its process renders it. Written by the kernel alone; absent where the kernel renders. */
  readonly promptBy?: string;
  readonly usesTools: readonly string[];
  readonly usesSkills: readonly string[];
  readonly delegatesTo: readonly string[];
  /** Of one turn, what it calls included: `max_turns` are model steps, `max_tokens` those of input and output. */
  readonly limits: Readonly<Record<'max_turns' | 'max_tool_calls' | 'max_tokens' | 'time_budget_ms', number>>;
  /** Values under `agent:` that extensions own, by key (`skills`, …), unchecked by the kernel. */
  readonly keys: Readonly<Record<string, unknown>>;
  /** The file that declared it, or null when it was made at run time. */
  readonly origin: string | null;
  /** Set when code outside the kernel declares it: its turns come from there. Written by the kernel alone. */
  readonly declaredBy?: { readonly extensionId: string; readonly ownOnly: boolean };
}

/** A message as models take it and threads keep it: plain JSON. */
export type Message = LanguageModelV3Message;

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What one run of a turn may not do, whatever its agent may: a channel, task or saved skill can only narrow. */
export interface TurnPolicy {
  /** `extension/tool` or extension ids; absent means all that the agent has. */
  readonly allowTools?: readonly string[];
  readonly denyTools?: readonly string[];
  readonly limits?: Partial<AgentSpec['limits']>;
  /** Overrides the agent's model. */
  readonly model?: string;
  /** Only tools whose effect is `read` run: a plan is made, and nothing changed. */
  readonly readOnly?: true;
  /** The saved skill that this turn is a run of, by `owner/name` or the name alone: tools with `permission.onlyForSkills` run only where it is among them. */
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
  /** What the user sends with the text and is stored with it. `name` is what they call it: a path, `stdin`. */
  readonly attachments?: readonly (
    | { readonly name: string; readonly text: string }
    | { readonly name: string; readonly image: ImageBytes }
  )[];
  readonly threadId: string;
  readonly channelId?: string;
  /** What the channel calls the message, where its `react` shows reactions to it; absent: the parent's. */
  readonly messageId?: string;
  readonly userId?: string;
  /** What narrows this turn. Who makes work of it for later hands it on. */
  readonly policy?: TurnPolicy;
  /** The turn that calls this one, as a tool was given it: what this one uses counts against its limits, and it ends with it. */
  readonly parent?: TurnInfo;
  /** Continue the thread's unfinished turn instead of beginning one. */
  readonly resume?: boolean;
  /** Names this turn in its thread: asked for again, it is continued, or says its answer again. A tool that runs an agent passes its `idempotencyKey`. */
  readonly key?: string;
  /** Names the message that caused it, for work that is done later; absent: the parent's, else that of the call which asks for it, else a new one. */
  readonly correlationId?: string;
  /** Keeps what is said and called in this thread, and below it, sealed. Of extensions in Pith's own process only. */
  readonly seal?: TurnSeal;
}

/** Makes texts unreadable in the database, and readable again; `open` rejects where it cannot. */
export interface TurnSeal {
  seal(text: string): Promise<string>;
  open(sealed: string): Promise<string>;
}

/** What providers and tools may know of the turn that they serve. Plain data; `tools`, `held`, `bound` and `compactions` are as they are when it is handed on. */
export interface TurnInfo extends Pick<TurnRequest, 'threadId' | 'messageId' | 'key' | 'policy'> {
  readonly id: string;
  readonly agent: AgentSpec;
  readonly channelId: string;
  readonly userId: string;
  /** `extension/tool` of every tool this turn can call. */
  readonly tools: readonly string[];
  readonly model: { readonly ref: string; readonly contextWindow: number | null };
  /** The user's last texts, newest last, this turn's included; at most five. */
  readonly userTexts: readonly string[];
  /** How often this thread has been compacted: what was said before may be gone. */
  readonly compactions: number;
  /** What is whole in the conversation: results that asked to be kept (`retain`), and documents next to messages. */
  readonly held: readonly Retain[];
  /** Ids and digests of the skills whose bodies are in the instructions (`uses_skills`). Empty until they have been read, and outside of a turn. */
  readonly bound: readonly Retain[];
  /** Names this message and all that it causes. */
  readonly correlationId: string;
  /** 0 for a person's own turn, one more for each delegation. */
  readonly depth: number;
}

export type TurnEndReason = 'done' | 'limit' | 'aborted' | 'error' | 'awaiting_approval';

/** All that a turn tells its channel. A turn never throws; its last event is always `turn-end`. */
export type TurnEvent =
  | { readonly type: 'turn-start'; readonly agent: string; readonly thread: string; readonly turn: string; readonly model: string }
  | { readonly type: 'notice'; readonly code: string; readonly message: string }
  /** A whole text is next to the message: described in one line, by the extension that gave it. */
  | { readonly type: 'document'; readonly extension: string; readonly key: string; readonly line: string }
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
      /** The tool's own one line for a terminal. */
      readonly line?: string;
      readonly retain?: Retain;
    }
  /** What a tool shows while its call `id` runs (`tool.progressed`). Not kept. */
  | { readonly type: 'tool-output'; readonly id: string; readonly text: string }
  | {
      readonly type: 'approval-request';
      /** What `pith approvals approve` takes. `tool`: `extension/tool`. `digest`: SHA-256 of the exact input. */
      readonly id: string;
      readonly tool: string;
      readonly input: JsonValue;
      readonly digest: string;
      /** The agents that lead to the question, the one that the person talks with first, in that one's thread. */
      readonly agents: readonly string[];
      readonly thread: string;
      /** Extensions outside the kernel that began the turn, or one above it; absent: none did. */
      readonly startedBy?: readonly string[];
      /** As the tool's `ApprovalQuestion` says it; `details` is its text. */
      readonly summary?: string;
      readonly details?: string;
      readonly enforced?: string;
      /** What `always` would cover, where that is more than this very call. */
      readonly covers?: string;
      /** `always` is no answer to it: only `once` and `no` are. */
      readonly once?: true;
    }
  /** `usage`: of the turn so far, with all that it called; `request`: of this one request to its model. */
  | { readonly type: 'step-end'; readonly step: number; readonly usage: Usage; readonly request: Usage }
  | {
      readonly type: 'turn-end';
      readonly reason: TurnEndReason;
      readonly text: string;
      readonly usage: Usage;
      readonly error?: { readonly code: string; readonly message: string };
    };

/** What a result is a copy of, which compaction should keep. */
export interface Retain {
  readonly key: string;
  readonly digest: string;
}
