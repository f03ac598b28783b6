import { termsOf } from './terms.ts';

/** A part of a skill's text under one heading. */
export interface Passage {
  /** The headings above it, outermost first; empty for the text before the first heading. */
  readonly headings: readonly string[];
  /** Paragraphs, list items and code blocks, as in the file. */
  readonly blocks: readonly string[];
}

const MAX_PASSAGES = 3;
const MAX_BLOCKS = 5;
const MAX_CHARACTERS = 1_500;

/** Splits Markdown into its sections. Headings inside code blocks are code. */
export function sectionsOf(markdown: string): readonly Passage[] {
  const sections: { headings: string[]; blocks: string[] }[] = [{ headings: [], blocks: [] }];
  const path: string[] = [];
  let block: string[] = [];
  let fence: string | null = null;
  const endBlock = () => {
    if (block.some((line) => line.trim() !== '')) sections.at(-1)?.blocks.push(block.join('\n').trimEnd());
    block = [];
  };
  for (const line of markdown.split(/\r?\n/)) {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== null) {
      block.push(line);
      if (mark?.startsWith(fence)) fence = null;
    } else if (mark !== undefined) {
      endBlock();
      fence = mark;
      block.push(line);
    } else if (/^#{1,6}\s/.test(line)) {
      endBlock();
      const level = /^#+/.exec(line)?.[0].length ?? 1;
      path.length = Math.min(path.length, level - 1);
      while (path.length < level - 1) path.push('');
      path.push(line.replace(/^#+\s+/, '').replace(/\s+#*$/, ''));
      sections.push({ headings: path.filter((heading) => heading !== ''), blocks: [] });
    } else if (line.trim() === '') {
      endBlock();
    } else {
      if (/^\s{0,3}(?:[-*+]|\d+[.)])\s/.test(line)) endBlock();
      block.push(line);
    }
  }
  endBlock();
  return sections.filter((section) => section.blocks.length > 0);
}

/** The passages that share most with the question, best first; empty when none shares anything. */
export function fittingPassages(question: string, markdown: string): readonly Passage[] {
  const sections = sectionsOf(markdown).map(({ headings, blocks }) => ({ headings: headings.map(read), blocks: blocks.map(read) }));
  const weights = weigh(termsOf(question), sections);
  const scored = sections
    .map((section) => ({ section, score: scoreOf(section, weights) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_PASSAGES);
  let room = MAX_CHARACTERS;
  return scored.flatMap(({ section }) => {
    const blocks = blocksOf(section, weights, room);
    room -= blocks.join('').length;
    return blocks.length === 0 ? [] : [{ headings: section.headings.map(({ text }) => text), blocks }];
  });
}

interface Read {
  readonly text: string;
  readonly terms: ReadonlySet<string>;
}

interface Section {
  readonly headings: readonly Read[];
  readonly blocks: readonly Read[];
}

function read(text: string): Read {
  return { text, terms: termsOf(text) };
}

type Weights = ReadonlyMap<string, number>;

/** A word that is in every section distinguishes them least. */
function weigh(wanted: ReadonlySet<string>, sections: readonly Section[]): Weights {
  const having = (term: string) => sections.filter(({ headings, blocks }) => [...headings, ...blocks].some(({ terms }) => terms.has(term)));
  return new Map([...wanted].map((term) => [term, Math.log(1 + sections.length / Math.max(1, having(term).length))]));
}

function scoreOf(section: Section, weights: Weights): number {
  const [best = 0, ...others] = section.blocks.map((block) => shared(weights, block)).sort((a, b) => b - a);
  return headingScore(section, weights) + best + Math.min(best / 2, others.reduce((sum, score) => sum + score, 0) / 4);
}

/** The innermost heading counts most; the outermost is the title of the whole skill, unless it is the only one. */
function headingScore({ headings }: Section, weights: Weights): number {
  const [innermost, ...outer] = headings.toReversed();
  if (innermost === undefined) return 0;
  return shared(weights, innermost) * 1.5 + outer.slice(0, -1).reduce((sum, heading) => sum + shared(weights, heading), 0);
}

/** The blocks that share words; the first ones where only the heading matches. */
function blocksOf(section: Section, weights: Weights, room: number): readonly string[] {
  const fitting = section.blocks.filter((block) => shared(weights, block) > 0);
  const chosen = (headingScore(section, weights) > 0 ? section.blocks : fitting).slice(0, MAX_BLOCKS);
  const kept: string[] = [];
  let left = room;
  for (const { text } of chosen) {
    if (text.length > left) {
      if (kept.length === 0 && left > 200) kept.push(`${text.slice(0, left)} …`);
      break;
    }
    kept.push(text);
    left -= text.length;
  }
  return kept;
}

function shared(weights: Weights, { terms }: Read): number {
  let sum = 0;
  for (const [term, weight] of weights) if (terms.has(term)) sum += weight;
  return sum;
}
