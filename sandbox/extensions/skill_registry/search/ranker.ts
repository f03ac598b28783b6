import { createHash } from 'node:crypto';
import { clean } from '../catalog/brief.ts';
import type { RankedSkill, RankerDocument } from '../contract.ts';
import type { Skill } from '../skill.ts';

/** What is searched of a skill; `version` and `body` are empty until its body has been read. */
export type Ranked = RankedSkill;
export type SearchDocument = RankerDocument;

/** So much of a body is searched, whoever ranks. */
export const BODY_CHARACTERS = 20_000;

export interface RankOptions {
  readonly k: number;
  /** Who asks, for a ranker that knows agents apart; words do not. */
  readonly agentId?: string;
  /** Only ids for which this is true are ranked. */
  readonly among?: (id: string) => boolean;
  /** Also what has little in common with the query, after the rest: for places that have room anyway. */
  readonly weak?: boolean;
  /** Equal scores stand in an order of their own for each seed; absent: by id. */
  readonly seed?: string;
}

/** What of a skill is searched, beside its body. */
export type Searched = Pick<Skill, 'id' | 'name' | 'description' | 'tags' | 'examples' | 'triggers' | 'extra'>;

/** What is known of a skill without its body. `learned`: texts of people for which it was loaded. */
export function documentOf(skill: Searched, learned: readonly string[] = []): SearchDocument {
  const { id, description, tags } = skill;
  const examples = [...skill.examples, ...whenToUse(skill), ...learned];
  return { id, version: '', name: clean(skill.name), description, tags, examples, body: '' };
}

/** The same with its body. */
export function fullDocumentOf(skill: Skill, body: string, learned: readonly string[] = []): SearchDocument {
  return { ...bodiedDocumentOf(skill, body, learned), version: documentVersion(skill, learned) };
}

/** The same for a skill that no source has. */
export function bodiedDocumentOf(skill: Searched, body: string, learned: readonly string[] = []): SearchDocument {
  return { ...documentOf(skill, learned), body };
}

/** Names the file, the version of it, and the learned texts that a document is made of. */
export function documentVersion({ stamp, file }: Skill, learned: readonly string[] = []): string {
  return `${stamp} ${file}${learned.length === 0 ? '' : ` ${digestOf(learned)}`}`;
}

function digestOf(learned: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(learned)).digest('hex').slice(0, 16);
}

const NO_TRIGGERS = { keywords: [], verbs: [] };

/** What else says when a skill fits: its triggers, and frontmatter of other systems. */
function whenToUse(skill: Searched): readonly string[] {
  const { keywords, verbs } = skill.triggers ?? NO_TRIGGERS;
  return [skill.extra.when_to_use, skill.extra['when-to-use'], ...keywords, ...verbs].filter((value) => typeof value === 'string');
}
