import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import type { TextDocument, TextRanker } from '@pith/word-ranker';
import { catalogLine } from '@pith/skill-files';
import { renderCatalog } from '../../sandbox/extensions/skill_registry/catalog/catalog.ts';
import { renderTurnPart } from '../../sandbox/extensions/skill_registry/catalog/turn-part.ts';
import type { Skill } from '../../sandbox/extensions/skill_registry/skill.ts';

/** Tokens, by a model's own tokenizer, of what an agent is told of its skills where they are too many. */
export interface CatalogTokens {
  /** The stable part of the system prompt. */
  readonly system: number;
  /** Beside each message, the most of `texts`. */
  readonly turn: number;
  /** Of a line for every skill. */
  readonly all: number;
  /** Of the system part with so many of the skills. */
  readonly used: readonly (readonly [count: number, tokens: number])[];
}

const BUDGET = 2000;
const COUNTS = [6, 60, 100, 300, 2000];

export function catalogTokens(documents: readonly TextDocument[], ranker: TextRanker, texts: readonly string[]): CatalogTokens {
  const skills = new Map(documents.map((document) => [document.id, skillOf(document)]));
  const sorted = byId([...skills.values()]);
  const turns = texts.map((text) => {
    const ranked = ranker.rank(text, { k: 12, weak: true }).map(({ id }) => skills.get(id)!);
    return tokens(renderTurnPart({ ranked, recent: [], searchReady: true }).text);
  });
  return {
    system: tokens(renderCatalog(sorted, { budget: BUDGET }).text),
    turn: Math.max(...turns),
    all: tokens(sorted.map((skill) => catalogLine(skill)).join('\n')),
    used: COUNTS.map((count) => [count, tokens(renderCatalog(byId([...skills.values()].slice(0, count)), { budget: BUDGET }).text)]),
  };
}

function byId(skills: readonly Skill[]): readonly Skill[] {
  return [...skills].sort((a, b) => (a.id < b.id ? -1 : 1));
}

function tokens(text: string | null): number {
  return text === null ? 0 : encode(text).length;
}

/** As much of a skill as the catalog looks at. */
function skillOf({ id, name, description, tags }: TextDocument): Skill {
  return { id, name, description, tags, brief: null, source: 'sandbox/skills' } as unknown as Skill;
}
