import type { Skill } from '../skill.ts';
import { clean } from '@pith/skill-files';
import { richestLines, sumOf } from './fitting.ts';

export interface TurnPartInput {
  /** Skills for the user's last texts, best first. */
  readonly ranked: readonly Skill[];
  /** Skills loaded in this thread, the latest first. */
  readonly recent: readonly Skill[];
  /** False while the search index is behind the files. */
  readonly searchReady: boolean;
  /** Whether the system part has a line for each of them already: then a short one is enough. */
  readonly listed?: boolean;
}

export interface TurnPart {
  /** null when nothing fits the message and the search is complete. */
  readonly text: string | null;
  /** Ids of the skills that it lists. */
  readonly shown: readonly string[];
}

const BUDGET = 400;
/** Characters of a line for what has one in the system part. */
const LISTED = 80;
/** So many skills are suggested with a message, and `skills eval` counts a skill as found among so many. */
export const SHOWN_BESIDE = 12;

/** The suggestions that go with the user's message when the catalog does not fit: at most 400 tokens. */
export function renderTurnPart({ ranked, recent, searchReady, listed = false }: TurnPartInput): TurnPart {
  const loaded = recent.slice(0, 4);
  const shown = ranked.filter((skill) => !loaded.includes(skill)).slice(0, SHOWN_BESIDE - loaded.length);
  if (shown.length + loaded.length === 0) return { text: searchReady ? null : lines([], [], false).join('\n'), shown: [] };
  const frame = lines([], loaded, searchReady);
  const found = richestLines(shown, BUDGET - sumOf(frame), listed ? LISTED : undefined);
  // Their ids are too long together: fewer of the larger group.
  if (found === null)
    return shown.length >= loaded.length
      ? renderTurnPart({ ranked: shown.slice(0, -1), recent: loaded, searchReady, listed })
      : renderTurnPart({ ranked: shown, recent: loaded.slice(0, -1), searchReady, listed });
  return { text: lines(found.lines, loaded, searchReady).join('\n'), shown: idsOf(loaded, shown) };
}

function lines(shown: readonly string[], loaded: readonly Skill[], searchReady: boolean): readonly string[] {
  return [
    '[Skills for this message]',
    ...(loaded.length === 0 ? [] : [`Loaded before: ${loaded.map((skill) => `\`${clean(skill.id)}\``).join(', ')}`]),
    ...shown,
    ...(searchReady ? [] : ['(the skills are still being indexed: more may fit; list_skills(query) searches again)']),
  ];
}

function idsOf(...skills: readonly (readonly Skill[])[]): readonly string[] {
  return skills.flat().map(({ id }) => id);
}
