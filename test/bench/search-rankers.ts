import { openDatabase } from '../../core/store/index.ts';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { once } from '@pith/promises';
import { TextRanker, type TextDocument, WordVectors } from '@pith/word-ranker';
import { repository } from './search-data.ts';

export interface Question {
  readonly k: number;
}

/** Something that finds documents for a text. */
export interface Searcher {
  readonly name: string;
  /** Ids, the best first. */
  find(text: string, question: Question): readonly string[] | Promise<readonly string[]>;
  close?(): void;
}

const vectors = once(() => new WordVectors(readFileSync(path.join(repository, 'sandbox/extensions/skill_search/vectors/english.bin'))));

/** As skill_search ranks, or without its table of word vectors. */
export function rankerOf(documents: readonly TextDocument[], hasTable = true): TextRanker {
  const ranker = new TextRanker(hasTable ? vectors() : null);
  for (const document of documents) ranker.upsert(document);
  return ranker;
}

export const PITH = 'Pith';
export const WORDS_ALONE = 'Pith, words alone';

/** What fits badly fills up the answer, as beside a message and in `list_skills`. */
export function pith(ranker: TextRanker, name = PITH): Searcher {
  return { name, find: (text, question) => ranker.rank(text, { ...question, weak: true }).map(({ id }) => id) };
}

/** Skills whose name, tags or description contain what was typed, as many lists of tools search. */
export function substring(documents: readonly TextDocument[]): Searcher {
  const texts = documents.map(({ id, name, tags, description, examples }) => ({
    id,
    text: [id, name, ...tags, description, ...examples].join('\n').toLowerCase(),
  }));
  return {
    name: 'substring',
    find: (text, { k }) => {
      const wanted = text.toLowerCase();
      return texts
        .filter((one) => one.text.includes(wanted))
        .slice(0, k)
        .map(({ id }) => id);
    },
  };
}

/** SQLite's full-text search over name, description and examples, any word, its own order. */
export function fullText(documents: readonly TextDocument[]): Searcher {
  const database = openDatabase(':memory:');
  database.exec("create virtual table skills using fts5(id unindexed, name, description, examples, tokenize = 'porter unicode61')");
  database.exec('begin');
  for (const { id, name, description, examples } of documents)
    database.run('insert into skills values (?, ?, ?, ?)', id, name, description, examples.join('\n'));
  database.exec('commit');
  return {
    name: 'FTS5',
    find: (text, { k }) => {
      const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
      if (words.length === 0) return [];
      const match = [...new Set(words)].map((word) => `"${word}"`).join(' OR ');
      const rows = database.all('select id from skills where skills match ? order by rank limit ?', match, k);
      return rows.map((row) => String(row['id']));
    },
    close: () => database.close(),
  };
}
