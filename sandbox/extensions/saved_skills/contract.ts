import { defineProtocol, type JsonValue } from 'pith';

/** What a run of a saved skill is asked with. */
export interface StartedBy {
  /** The same key gives the same run, however often it is asked for. */
  readonly key: string;
  readonly inputs: Readonly<Record<string, JsonValue | undefined>>;
  /** Above the skill's own; within what its owner may use. */
  readonly priority?: number;
}

/** How a skill is reached from the web. */
export interface WebhookSettings {
  readonly skillId: string;
  /** `owner/name`, or the name of one that ships. */
  readonly skill: string;
  readonly signingKey: string;
  readonly signatureRequired: boolean;
  /** Addresses and ranges, one a line; blank: any. */
  readonly ipAllowlist: string;
  readonly legacySignature: boolean;
}

/** What other extensions ask of saved skills. They have checked who asks. */
export interface SavedSkills {
  /** null: no skill is reached by this secret. */
  webhook(secret: string): Promise<WebhookSettings | null>;
  /** Queues a run as the skill's owner, for somebody who is no user. Resolves its id; rejects `input_invalid`. */
  startForOwner(skillId: string, started: StartedBy): Promise<string>;
  /** The skill whose run works in this thread; null: none does. `encrypts`: what it keeps is encrypted. */
  skillOfThread(threadId: string): Promise<{ readonly skillId: string; readonly encrypts: boolean } | null>;
}

export const SavedSkills = defineProtocol<SavedSkills>(
  'saved.skills',
  {
    webhook: { kind: 'method', signature: 'webhook(secret: string): Promise<WebhookSettings | null>' },
    startForOwner: { kind: 'method', signature: 'startForOwner(skillId: string, started: { key, inputs, priority? }): Promise<string>' },
    skillOfThread: { kind: 'method', signature: 'skillOfThread(threadId: string): Promise<{ skillId, encrypts } | null>' },
  },
  { inProcessOnly: true },
);
