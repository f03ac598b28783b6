import { overlap, termsOf } from './terms.ts';

/** A part of a skill's text under one heading. */
export interface Passage {
  /** The headings that lead to it, outermost first; empty for the text before the first heading. */
  readonly headings: readonly string[];
  /** Paragraphs, list items and code blocks, as they stand in the file. */
  readonly blocks: readonly string[];
}

const MAX_PASSAGES = 3;
const MAX_BLOCKS = 6;
const MAX_CHARACTERS = 1_500;

/** Cuts Markdown into its sections. Headings inside code blocks are code. */
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
  const wanted = termsOf(question);
  const scored = sectionsOf(markdown)
    .map((section) => ({ section, score: scoreOf(section, wanted) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_PASSAGES);
  let room = MAX_CHARACTERS;
  return scored.flatMap(({ section }) => {
    const blocks = blocksOf(section, wanted, room);
    room -= blocks.join('').length;
    return blocks.length === 0 ? [] : [{ headings: section.headings, blocks }];
  });
}

function scoreOf(section: Passage, wanted: ReadonlySet<string>): number {
  const shared = section.blocks.map((block) => overlap(wanted, block)).sort((a, b) => b - a);
  const [best = 0, ...others] = shared;
  // The title names the whole skill: only the innermost heading says what this section is about.
  return overlap(wanted, section.headings.at(-1) ?? '') * 1.5 + best + Math.min(1.5, others.reduce((sum, count) => sum + count, 0) / 4);
}

/** The blocks that share something, else the first ones: a heading alone can be what fits. */
function blocksOf(section: Passage, wanted: ReadonlySet<string>, room: number): readonly string[] {
  const fitting = section.blocks.filter((block) => overlap(wanted, block) > 0);
  const headingFits = overlap(wanted, section.headings.at(-1) ?? '') > 0;
  const chosen = (headingFits ? section.blocks : fitting).slice(0, MAX_BLOCKS);
  const kept: string[] = [];
  let left = room;
  for (const block of chosen) {
    if (block.length > left) {
      if (kept.length === 0 && left > 200) kept.push(`${block.slice(0, left)} …`);
      break;
    }
    kept.push(block);
    left -= block.length;
  }
  return kept;
}
