import { documentOf, toolQueries, tools, type ToolQuery } from './search-data.ts';
import { fullText, pith, rankerOf, substring, type Searcher, WORDS_ALONE } from './search-rankers.ts';

export interface ToolQuestions {
  readonly examples: number;
  readonly documents: ReturnType<typeof documentOf>[];
  /** Without the queries that served as examples. */
  readonly asked: readonly ToolQuery[];
}

/** The tools, each with its first `count` queries as examples. */
export function toolQuestions(count: number): ToolQuestions {
  const examples = new Map<string, string[]>();
  const asked: ToolQuery[] = [];
  for (const query of toolQueries()) {
    const kept = examples.get(query.tool) ?? [];
    if (kept.length < count) examples.set(query.tool, [...kept, query.query]);
    else asked.push(query);
  }
  const documents = tools().map(({ id, description }) => ({
    ...documentOf({ name: id, description, tags: [], body: '' }, id),
    examples: examples.get(id) ?? [],
  }));
  return { examples: count, documents, asked };
}

/** For each searcher by name: 1 where the right tool was among the first five. */
export async function askTools({ documents, asked }: ToolQuestions): Promise<ReadonlyMap<string, readonly number[]>> {
  const hits = new Map<string, readonly number[]>();
  for (const searcher of [
    pith(rankerOf(documents)),
    pith(rankerOf(documents, false), WORDS_ALONE),
    substring(documents),
    fullText(documents),
  ]) {
    hits.set(searcher.name, await hitsOf(searcher, asked));
    searcher.close?.();
  }
  return hits;
}

async function hitsOf(searcher: Searcher, asked: readonly ToolQuery[]): Promise<readonly number[]> {
  const hits: number[] = [];
  for (const { query, tool } of asked) hits.push((await searcher.find(query, { k: 5 })).includes(tool) ? 1 : 0);
  return hits;
}
