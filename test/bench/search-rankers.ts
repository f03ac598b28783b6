import { openDatabase } from '../../core/store/index.ts';
import { Bm25fRanker, type TextDocument } from '@pith/word-ranker';

export interface Question {
  readonly k: number;
  /** For the turn part, which has room for what fits badly. */
  readonly weak?: boolean;
}

/** Something that finds documents for a text. */
export interface Searcher {
  readonly name: string;
  /** Ids, the best first. */
  find(text: string, question: Question): readonly string[] | Promise<readonly string[]>;
  close?(): void;
}

export function rankerOf(documents: readonly TextDocument[]): Bm25fRanker {
  const ranker = new Bm25fRanker();
  for (const document of documents) ranker.upsert(document);
  return ranker;
}

export function pith(ranker: Bm25fRanker): Searcher {
  return { name: 'Pith', find: (text, question) => ranker.rank(text, question).map(({ id }) => id) };
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
