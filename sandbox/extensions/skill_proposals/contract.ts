import { defineProtocol, defineTopic, method } from 'pith';

/** A skill as it is and as a proposal would make it, as folders that nobody changes. */
export interface ProposedSkill {
  /** Its id. */
  readonly skill: string;
  readonly before: string;
  readonly after: string;
}

/** A proposal was made, decided or commented. */
export interface ProposalChanged {
  readonly v: 1;
  readonly proposalId: string;
}

export const proposalChanged = defineTopic<ProposalChanged>('proposal.changed', { durable: true });

/** What others ask about proposed changes of skills. */
export interface SkillProposals {
  /** `id`: a unique beginning will do. null: there is no such proposal, or it does not fit the skill any more. */
  candidate(id: string): Promise<ProposedSkill | null>;
}

export const SkillProposals = defineProtocol<SkillProposals>(
  'skills.proposals',
  { candidate: method({ timeoutMs: 60_000 }) },
  { inProcessOnly: true },
);
