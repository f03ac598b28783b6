import { defineProtocol, defineTopic, method, type JsonValue, type ToolResult } from 'pith';
import type { ActingUser } from '@pith/command-line';

export type { ActingUser };

/** A saved skill was given another timetable, or none. */
export interface SavedRescheduled {
  readonly skillId: string;
  /** As whom it runs. */
  readonly userId: string;
}

export const savedRescheduled = defineTopic<SavedRescheduled>('saved.rescheduled');

/** What a run of a saved skill is asked with. */
export interface StartedBy {
  /** The run's id, a ULID: the same gives the same run, however often it is asked for. */
  readonly runId: string;
  readonly inputs: Readonly<Record<string, JsonValue | undefined>>;
  /** Above the skill's own; within what its owner may use. */
  readonly priority?: number;
}

/** How a skill is reached from the web. */
export interface WebhookSettings {
  readonly skillId: string;
  /** `owner/name`, or the name of one that ships. */
  readonly skill: string;
  readonly signingKey: string | null;
  readonly signatureRequired: boolean;
  /** Addresses and ranges, one a line; blank: any. */
  readonly ipAllowlist: string;
  readonly legacySignature: boolean;
}

export interface WebhookChange {
  /** null: nothing reaches the skill any more. */
  readonly secret?: string | null;
  readonly signingKey?: string | null;
  readonly signatureRequired?: boolean;
  /** Of administrators: the owner cannot switch signatures off. */
  readonly signatureForced?: boolean;
  readonly ipAllowlist?: string;
  readonly legacySignature?: boolean;
}

/** The result of a run, as it is due at one target. */
export interface DueResult {
  readonly skillId: string;
  /** `owner/name`, or the name of one that ships. */
  readonly skill: string;
  /** `ok` or `max_iterations`. */
  readonly state: string;
  readonly text: string;
  readonly endedAt: number;
}

/** A skill that a channel offers as a tool. */
export interface ExposedSkill {
  /** The name of the tool. */
  readonly tool: string;
  /** `owner/name`, or the name of one that ships. */
  readonly skill: string;
  readonly description: string;
  /** JSON Schema of its inputs. */
  readonly inputSchema: Readonly<Record<string, JsonValue>>;
}

/** Who asks for a run of an exposed skill, and where. */
export interface ExposedCall {
  readonly by: ActingUser;
  readonly channelId: string;
  readonly threadId: string;
  readonly inputs: Readonly<Record<string, JsonValue | undefined>>;
}

/** Seals what is written down of runs of encrypted skills. */
export interface RunSealing {
  /** Rejects `key_unavailable` where nothing can be sealed. */
  seal(skillId: string, text: string): Promise<string>;
  /** Rejects `key_unavailable` and `decrypt_failed`. */
  open(skillId: string, sealed: string): Promise<string>;
}

export const RunSealing = defineProtocol<RunSealing>(
  'saved.sealing',
  {
    seal: method(),
    open: method(),
  },
  { inProcessOnly: true },
);

/** What other extensions ask of saved skills. They have checked who asks. */
export interface SavedSkills {
  /** null: no skill is reached by this secret. */
  webhook(secret: string): Promise<WebhookSettings | null>;
  /** What a person changes of it: its owner, or an administrator. Rejects `not_found` and `not_allowed`. */
  changeWebhook(reference: string, by: ActingUser, change: WebhookChange): Promise<WebhookSettings & { readonly secret: string | null }>;
  /** The id of a skill that this person may change. Rejects as `changeWebhook` does. */
  idOf(reference: string, by: ActingUser): Promise<string>;
  /** Notes that what a skill keeps is encrypted from now on, or not. Rejects as `changeWebhook` does. */
  changeEncryption(reference: string, by: ActingUser, isOn: boolean): Promise<void>;
  /** Queues a run as the skill's owner, for somebody who is no user. False: it was queued before. Rejects `input_invalid`. */
  startForOwner(skillId: string, started: StartedBy): Promise<boolean>;
  /** Skills that are exposed in a channel and that this person may run, by the names of their tools. */
  exposed(by: ActingUser, channelId: string): Promise<readonly ExposedSkill[]>;
  /** Runs one of those and waits for its end; `skill` is its `owner/name`. Rejects `not_found`, `not_allowed` and `input_invalid`. */
  runExposed(skill: string, call: ExposedCall, signal?: AbortSignal): Promise<ToolResult>;
  /** What is to be delivered of a run to this target now; null: nothing is, whoever says so. */
  dueResult(runId: string, target: string): Promise<DueResult | null>;
  /** The skill whose run this process executes in this thread; null: none. `encrypts`: what it keeps is encrypted. */
  skillOfThread(threadId: string): Promise<{ readonly skillId: string; readonly encrypts: boolean } | null>;
}

export const SavedSkills = defineProtocol<SavedSkills>(
  'saved.skills',
  {
    webhook: method(),
    changeWebhook: method(),
    idOf: method(),
    changeEncryption: method(),
    startForOwner: method(),
    exposed: method(),
    runExposed: method({ timeoutMs: null, signalAt: 2 }),
    dueResult: method(),
    skillOfThread: method(),
  },
  { inProcessOnly: true },
);
