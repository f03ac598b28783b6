import type { JsonValue } from './errors.ts';
import { defineInProcess, method } from './protocol.ts';

/** `running`: in some process; `cut_off`: its process ended before its turn did, and `resume` goes on. */
type State = 'idle' | 'running' | 'awaiting_approval' | 'cut_off';

interface Conversation extends Readonly<Record<'createdAt' | 'updatedAt', number>> {
  readonly id: string;
  /** The user of its first turn: whose it is. */
  readonly userId: string;
  readonly agentId: string;
  readonly title: string;
  readonly state: State;
  readonly branchOf: string | null;
}

interface ConversationMessage {
  /** Ascending, with gaps. */
  readonly seq: number;
  readonly turnId: string;
  /** `summary`: in the place of what compaction took out; `sealed` and `unreadable`: what it says cannot be shown. */
  readonly role: 'user' | 'assistant' | 'tool' | 'summary' | 'sealed' | 'unreadable';
  /** What the person or the agent wrote, without what was put beside it. */
  readonly text: string;
  readonly attachments: readonly { readonly name: string; readonly mediaType: string | null }[];
  /** What extensions put beside it whole, such as a skill, as people are told of it. */
  readonly documents: readonly string[];
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: JsonValue }[];
  /** `title`: what the tool says of it in a line. `retained`: the conversation holds it whole, as it does a loaded skill. */
  readonly results: readonly {
    readonly id: string;
    readonly name: string;
    readonly ok: boolean;
    readonly title: string | null;
    readonly retained: boolean;
    readonly output: JsonValue;
  }[];
}

type Answer = 'once' | 'always' | 'project' | 'no';

interface ConversationQuestion {
  readonly id: string;
  /** By which people name it while it is open. */
  readonly number: number;
  /** The conversation in which the person talks. */
  readonly threadId: string;
  readonly userId: string;
  /** `extension/tool`. */
  readonly tool: string;
  readonly input: JsonValue;
  readonly digest: string;
  /** The one in the person's thread first. */
  readonly agents: readonly string[];
  /** Extensions outside the kernel that began the turn. */
  readonly startedBy: readonly string[];
  readonly summary: string;
  readonly details: string | null;
  readonly enforced: string | null;
  /** What `always` would cover; null: it is not offered. */
  readonly covers: string | null;
  /** The answers that it takes. */
  readonly answers: readonly Answer[];
  readonly createdAt: number;
  readonly expiresAt: number;
  /** null while it is open. `by` is null where nobody answered in time. */
  readonly answered: { readonly answer: Answer; readonly by: string | null; readonly reason: string | null } | null;
}

/** Conversations of every user in every process of this sandbox. Whoever shows one to somebody asks `find` whose it is. */
export interface Conversations {
  /** Newest first, without threads of calls, tasks and schedules. `text`: in the title. `after`: `cursor` of the page before, null at the end. */
  list(asked: {
    readonly userId?: string;
    readonly text?: string;
    readonly after?: string;
    readonly limit?: number;
  }): Promise<{ readonly conversations: readonly Conversation[]; readonly cursor: string | null }>;
  /** null: there is none. Any thread, also that of a call. */
  find(threadId: string): Promise<Conversation | null>;
  /** Ascending: at most `limit` (default 50) behind `after`, or before `before`, or at the end. */
  messages(
    threadId: string,
    window?: { readonly after?: number; readonly before?: number; readonly limit?: number },
  ): Promise<readonly ConversationMessage[]>;
  /**
   * What has changed behind the place `since` in any process, oldest first, each thread once, at most 1,000; and the place up to which that is
   * all. null: only the present place. `asked`: a question was asked or answered there. `since` of another database: `place` is lower.
   */
  changes(since: number | null): Promise<{
    readonly place: number;
    readonly threads: readonly { readonly id: string; readonly userId: string; readonly removed: boolean; readonly asked: boolean }[];
  }>;
  /** Those that are open, oldest first; with `id` that one, also once it is answered. */
  questions(asked: Partial<Record<'userId' | 'threadId' | 'id', string>>): Promise<readonly ConversationQuestion[]>;
  /** Rejects as `pith approvals`. `attended`: a process that shows the question goes on with the turn; else who answers resumes it. */
  answer(
    id: string,
    reply: { readonly answer: Answer; readonly by: string; readonly reason?: string },
  ): Promise<{ readonly attended: boolean }>;
  /** Ends the turn that runs there as `aborted`, in whichever process. `stopping`: it has not ended within 10 s. Never stops the next turn. */
  stop(threadId: string, by: string, signal?: AbortSignal): Promise<'stopped' | 'stopping' | 'idle'>;
}

export const Conversations = defineInProcess<Conversations>('conversations', {
  list: method(),
  find: method(),
  messages: method(),
  changes: method(),
  questions: method(),
  answer: method(),
  stop: method({ timeoutMs: 15_000, signalAt: 2 }),
});
