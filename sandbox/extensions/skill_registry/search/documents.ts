import { clean } from '@pith/skill-files';
import { BODY_CHARACTERS } from '@pith/word-ranker';
import type { RankerDocument } from '../contract.ts';
import type { Skill } from '../skill.ts';

/** What a ranker is given of a skill. Nothing in it is anybody's but the author's. */
export function documentOf(skill: Skill, body: string): RankerDocument {
  const { id, description, tags, examples } = skill;
  return {
    id,
    version: documentVersion(skill),
    name: clean(skill.name),
    description,
    tags,
    examples,
    whenToUse: whenToUse(skill),
    body: body.slice(0, BODY_CHARACTERS),
  };
}

/** Names the file and the version of it. */
export function documentVersion({ stamp, file }: Skill): string {
  return `${stamp} ${file}`;
}

const NO_TRIGGERS = { keywords: [], verbs: [] };

/** What else says when a skill fits: its triggers, and frontmatter of other systems. */
export function whenToUse({ triggers, extra }: Pick<Skill, 'triggers' | 'extra'>): readonly string[] {
  const { keywords, verbs } = triggers ?? NO_TRIGGERS;
  const said = [extra['when_to_use'], extra['when-to-use'], ...keywords, ...verbs];
  return said.filter((value) => typeof value === 'string');
}
