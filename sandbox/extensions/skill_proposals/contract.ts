import { defineProtocol, method, type TurnInfo } from 'pith';

/** The skill as it is and as it would be, as folders that nobody changes. */
export interface ProposedSkill {
  /** Its id. */
  readonly skill: string;
  /** The folder that the proposal was made for, or the present one where it has changed since; null: there is none. */
  readonly before: string | null;
  readonly after: string;
}

/** What others ask about proposed changes of skills. */
export interface SkillProposals {
  /** `id`: a unique beginning will do. null: there is no such proposal, or it does not fit the skill any more. */
  candidate(id: string): Promise<ProposedSkill | null>;
  /** What a conversation has read from outside, such as pages and servers, its delegated turns included. Empty: nothing. */
  sourcesOf(turn: Pick<TurnInfo, 'threadId' | 'correlationId' | 'channelId'>): Promise<readonly string[]>;
}

export const SkillProposals = defineProtocol<SkillProposals>(
  'skills.proposals',
  { candidate: method({ timeoutMs: 60_000 }), sourcesOf: method() },
  { inProcessOnly: true },
);
