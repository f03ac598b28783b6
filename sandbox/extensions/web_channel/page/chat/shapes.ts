/** What the server says of conversations, as `GET /api/openapi.json` has it. */

import type { Attachment } from './attachments.ts';

export interface Thread {
  readonly id: string;
  readonly userId: string;
  readonly agentId: string | null;
  readonly title: string;
  readonly state: 'idle' | 'running' | 'awaiting_approval' | 'cut_off';
  readonly updatedAt: number | null;
  /** The conversation that it began like. */
  readonly branchOf: string | null;
}

export interface Message {
  readonly seq: number;
  readonly turnId: string;
  readonly role: 'user' | 'assistant' | 'tool' | 'summary' | 'sealed' | 'unreadable';
  readonly text: string;
  readonly attachments: readonly { readonly name: string; readonly mediaType: string | null }[];
  /** What extensions put beside it, such as a skill. */
  readonly documents: readonly string[];
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  readonly results: readonly Result[];
}

export interface Result {
  readonly id: string;
  readonly name: string;
  readonly ok: boolean;
  /** What the tool says of it in a line. */
  readonly title: string | null;
  /** The conversation holds it whole, as it does a loaded skill. */
  readonly retained: boolean;
  readonly output: unknown;
}

export type Answer = 'once' | 'always' | 'project' | 'no';

export interface Question {
  readonly id: string;
  readonly number: number;
  readonly threadId: string;
  readonly tool: string;
  readonly input: unknown;
  readonly agents: readonly string[];
  readonly summary: string;
  readonly details: string | null;
  readonly enforced: string | null;
  readonly covers: string | null;
  readonly answers: readonly Answer[];
}

/** One event of a turn. Those that the page does not know are left out. */
export interface TurnEvent {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly ok?: boolean;
  readonly output?: unknown;
  readonly title?: string;
  readonly retain?: object;
  readonly line?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

/** Of a turn that gave no answer. */
export interface TurnEnd {
  readonly turn: string;
  readonly reason: 'limit' | 'aborted' | 'error';
  /** Its message ends with the cure. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Messages that wait for their turn, the oldest first. */
export interface Waiting {
  readonly waiting: readonly { readonly key: string; readonly text: string }[];
}

/** A message that waited, as it was sent. */
export interface TakenBack {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** What is being said and not kept yet. */
export interface Live {
  readonly turn: string | null;
  readonly state: 'queued' | 'running';
  /** Of the last event. */
  readonly n: number;
  readonly events: readonly TurnEvent[];
  readonly waiting: number;
}
