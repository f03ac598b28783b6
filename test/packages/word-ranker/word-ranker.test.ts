import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Bm25fRanker, eachTerm, PARAMETERS, synonymsOf, type TextDocument } from '@pith/word-ranker';

function document(id: string, values: Partial<TextDocument> = {}): TextDocument {
  return { id, name: id, description: '', tags: [], examples: [], body: '', ...values };
}

function rankerOf(...documents: TextDocument[]): Bm25fRanker {
  const ranker = new Bm25fRanker();
  for (const one of documents) ranker.upsert(one);
  return ranker;
}

function ids(ranker: Bm25fRanker, query: string, k = 10): string[] {
  return ranker.rank(query, { k }).map(({ id }) => id);
}

function terms(text: string): string[] {
  const found: string[] = [];
  eachTerm(text, (term) => found.push(term));
  return found;
}

const filler = Array.from({ length: 20 }, (_, at) =>
  document(`filler-${at}`, { description: 'Something else altogether.', body: 'Other words.' }),
);

describe('the seam', () => {
  it('R1 answers with ids, scores and the words that matched, best first, at most k', () => {
    const ranker = rankerOf(
      ...filler,
      document('pdf-forms', { description: 'Fills PDF forms.' }),
      document('invoices', { description: 'Writes invoices as PDF.' }),
    );
    const answer = ranker.rank('fill a PDF form', { k: 5 });
    expect(answer.map(({ id }) => id)).toEqual(['pdf-forms', 'invoices']);
    expect(answer[0]!.score).toBeGreaterThan(answer[1]!.score);
    expect(answer[0]!.why).toEqual(['fill', 'PDF', 'form']);
    expect(answer[1]!.why).toEqual(['PDF']);
    expect(ids(ranker, 'fill a PDF form', 1)).toEqual(['pdf-forms']);
  });

  it('R1 removes what is removed and ranks only what is accepted', () => {
    const ranker = rankerOf(document('alpha', { description: 'maps' }), document('beta', { description: 'maps' }));
    expect(ranker.rank('maps', { k: 5, among: (id) => id === 'beta' }).map(({ id }) => id)).toEqual(['beta']);
    ranker.remove('beta');
    ranker.remove('never-there');
    expect(ids(ranker, 'maps')).toEqual(['alpha']);
  });
});

describe('the default ranker', () => {
  it('R2 weighs the name above tags and description, these above examples, these above the body', () => {
    const ranker = rankerOf(
      ...filler,
      document('a-body', { body: 'kubernetes' }),
      document('b-example', { examples: ['kubernetes'] }),
      document('c-description', { description: 'kubernetes' }),
      document('d-kubernetes'),
    );
    expect(ids(ranker, 'kubernetes please, all of it')).toEqual(['d-kubernetes', 'c-description', 'b-example', 'a-body']);
  });

  it('R2 stems English, splits camelCase and kebab-case and leaves stop words out', () => {
    expect(terms('Extracting the tables')).toEqual(terms('extracts table'));
    expect(terms('pdf-form-filler')).toEqual(['pdf', 'form', 'filler']);
    expect(terms('openApiSpec')).toEqual(['openapispec', 'open', 'api', 'spec']);
    expect(terms('XMLHttpRequest')).toEqual(expect.arrayContaining(['xml', 'http', 'request']));
    expect(terms('how do I do this with it')).toEqual([]);
    expect(terms('Café naïve')).toEqual(terms('cafe naive'));
  });

  it('R2 finds words of scripts without spaces by character trigrams, short queries too', () => {
    const ranker = rankerOf(
      ...filler,
      document('sheets', { description: '创建和编辑电子表格，包括公式' }),
      document('thai', { description: 'สร้างสเปรดชีตที่มีสูตร' }),
      document('slides', { description: '制作演示文稿' }),
    );
    expect(ids(ranker, '电子表格')).toEqual(['sheets']);
    expect(ids(ranker, '公式')).toEqual(['sheets']);
    expect(ids(ranker, 'สเปรดชีต')).toEqual(['thai']);
    expect(ids(ranker, '演示')).toEqual(['slides']);
  });

  it('R2 puts an exact id before a prefix before the rest', () => {
    const wordy = document('notes', { description: 'review review review code code code', tags: ['code review'] });
    const ranker = rankerOf(wordy, document('code-review-checklist'), document('code-review'));
    expect(ids(ranker, 'code-review')).toEqual(['code-review', 'code-review-checklist', 'notes']);
    expect(ids(ranker, 'Code Review')[0]).toBe('code-review');
  });

  it('R2 always answers with skills whose id, name or tag contains the whole query', () => {
    const many = Array.from({ length: 200 }, (_, at) => document(`ocr-reader-${at}`, { description: 'ocr ocr' }));
    const ranker = rankerOf(
      ...many,
      document('scan', { name: 'Dr. Vocrome' }),
      document('tagged', { tags: ['xocrx'] }),
      document('zz-how-to'),
    );
    const found = ids(ranker, 'ocr', 300);
    expect(found).toContain('scan');
    expect(found).toContain('tagged');
    expect(ids(ranker, 'how to')).toEqual(['zz-how-to']);
    expect(ranker.rank('how to', { k: 5 })[0]!.why).toEqual(['how to']);
  });

  it('R2 corrects the spelling only of words that nothing has', () => {
    const ranker = rankerOf(
      ...filler,
      document('charts', { description: 'Draws kubernetes charts.' }),
      document('carts', { description: 'Shopping carts.' }),
    );
    expect(ids(ranker, 'kuberentes')).toEqual(['charts']);
    expect(ids(ranker, 'draw kubernets')).toEqual(['charts']);
    expect(ids(ranker, 'carts')).toEqual(['carts']);
  });

  it.each(['medcal', 'medicall', 'medcial', 'medical'])(
    'R2 corrects the spelling of a word whose ending the stemmer takes: %s',
    (query) => {
      const ranker = rankerOf(...filler, document('clinic', { description: 'Reads medical letters.' }));
      expect(ids(ranker, query)).toEqual(['clinic']);
      expect(ids(ranker, 'metal')).toEqual([]); // too little is left without its ending
    },
  );

  it('R2 corrects the spelling as if what was removed had never been', () => {
    const names = ['zebraa', 'zebrab', 'zebrac', 'zebrad'];
    const ranker = rankerOf(...filler, ...names.map((name, at) => document(`s${at}`, { description: `Feeds ${name}.` })));
    for (const at of [0, 1, 2]) ranker.remove(`s${at}`);
    expect(ids(ranker, 'zebrax')).toEqual(['s3']);
    ranker.upsert(document('s3', { description: 'Feeds nobody.', body: 'zebrad' }));
    expect(ids(ranker, 'zebrax')).toEqual([]);
    for (let at = 0; at < 200; at++) ranker.upsert(document('s3', { description: `Feeds zebra${'abcdefgh'[at % 8]}.` }));
    expect(ids(ranker, 'zebrax')).toEqual(['s3']);
  });

  it('R2 is incremental: after changes it answers as one that was built afresh', () => {
    const changed = rankerOf(...filler, document('maps', { description: 'Draws maps of cities.' }));
    for (let round = 0; round < 200; round++)
      changed.upsert(document('maps', { description: `Draws charts number ${round}.`, body: 'temporary words' }));
    for (const { id } of filler.slice(0, 10)) changed.remove(id);
    changed.upsert(document('maps', { description: 'Cooks soup.' }));
    const fresh = rankerOf(...filler.slice(10), document('maps', { description: 'Cooks soup.' }));
    for (const query of ['cook soup', 'draw maps', 'temporary words', 'something else']) {
      expect(changed.rank(query, { k: 20 })).toEqual(fresh.rank(query, { k: 20 }));
    }
    expect(ids(changed, 'temporary')).toEqual([]);
  });

  it('R2 searches the first 20,000 characters of a body', () => {
    const ranker = rankerOf(...filler, document('long', { body: `${'word '.repeat(3900)} porcupine ${'word '.repeat(200)} armadillo` }));
    expect(ids(ranker, 'porcupine')).toEqual(['long']);
    expect(ids(ranker, 'armadillo')).toEqual([]);
  });

  it('R2 gives no answer rather than noise', () => {
    const ranker = rankerOf(
      ...filler,
      document('soup', { description: 'Cooks soup.', body: 'Stir slowly. A great evening begins in the kitchen.' }),
    );
    expect(ids(ranker, 'quantum chromodynamics')).toEqual([]);
    expect(ids(ranker, 'thanks, that was a great holiday')).toEqual([]);
    expect(ids(ranker, 'what is it with you')).toEqual([]);
    expect(ids(ranker, '')).toEqual([]);
    expect(ids(ranker, 'great evening in the kitchen')).toEqual(['soup']);
    expect(ranker.rank('thanks, that was a great holiday', { k: 5, weak: true }).map(({ id }) => id)).toEqual(['soup']);
  });

  it('R2 sorts equal scores by id, whatever the order of insertion', () => {
    const twins = ['c', 'a', 'b'].map((id) => document(`x${id}`, { description: 'twin' }));
    expect(ids(rankerOf(...twins), 'twin sisters')).toEqual(['xa', 'xb', 'xc']);
    expect(ids(rankerOf(...twins.reverse()), 'twin sisters', 2)).toEqual(['xa', 'xb']);
  });

  it('R2 takes ids such as constructor and __proto__ and queries full of signs', () => {
    const ranker = rankerOf(document('constructor'), document('__proto__'), document('c++', { tags: ['c++'] }));
    expect(ids(ranker, 'constructor')).toEqual(['constructor']);
    expect(ids(ranker, '__proto__')).toEqual(['__proto__']);
    expect(ids(ranker, 'c++')).toEqual(['c++']);
    expect(ids(ranker, '*** ((( \\ [')).toEqual([]);
  });

  it('R2 keeps its weights within what was agreed', () => {
    const within: Record<string, [number, number]> = {
      name: [3, 3],
      tags: [2, 2],
      description: [1.5, 3],
      examples: [1, 1.5],
      body: [0.25, 0.5],
    };
    for (const { name, weight } of PARAMETERS.fields) {
      expect(weight, name).toBeGreaterThanOrEqual(within[name]![0]);
      expect(weight, name).toBeLessThanOrEqual(within[name]![1]);
    }
    expect(PARAMETERS.fields.map(({ name }) => name)).toEqual(Object.keys(within));
  });

  it('R2 gives a whole query in an id, name or tag its place before any number of texts that speak of it', () => {
    const speaking = Array.from({ length: 50 }, (_, at) =>
      document(`talk-${at}`, { description: 'git rebase git rebase', body: 'git rebase' }),
    );
    const others = Array.from({ length: 500 }, (_, at) => document(`other-${at}`, { description: 'Something else.' }));
    const ranker = rankerOf(
      ...others,
      ...speaking,
      document('zz-tagged', { tags: ['git rebase'] }),
      document('zz-named', { name: 'Interactive Git Rebase' }),
      document('zz-git-rebase-guide'),
      document('zz-in-words', { name: 'Legit Rebasement' }),
    );
    expect(ids(ranker, 'git rebase', 4).toSorted()).toEqual(['zz-git-rebase-guide', 'zz-in-words', 'zz-named', 'zz-tagged']);
  });

  it('R2 takes British and American spelling, and the forms of irregular words, for one word', () => {
    expect(terms('colour organise catalogue centre')).toEqual(terms('color organize catalog center'));
    expect(terms('written drew children indices')).toEqual(terms('write draw child index'));
    expect(terms('exercise our hours')).toEqual(terms('exercise hour'));
  });

  it('R2 prefers, of equal words, those that stand beside each other', () => {
    const words = 'Several notes, then more notes, of a kind.';
    const ranker = rankerOf(
      ...filler,
      document('apart', { description: `Release ${words} Train` }),
      document('beside', { description: `${words} Release train` }),
      document('in-body-apart', { description: words, body: `release ${words} train` }),
      document('in-body-beside', { description: words, body: `${words} release train` }),
    );
    expect(ids(ranker, 'release train')).toEqual(['beside', 'apart', 'in-body-beside', 'in-body-apart']);
  });

  it('R2 finds near synonyms after the word itself, and R1 names the word that was asked', () => {
    const ranker = rankerOf(
      ...filler,
      document('images', { description: 'Crops every image.' }),
      document('pictures', { description: 'Crops every picture.' }),
    );
    const answer = ranker.rank('picture', { k: 5 });
    expect(answer.map(({ id }) => id)).toEqual(['pictures', 'images']);
    expect(answer[1]!.why).toEqual(['picture']);
    expect(answer[0]!.score).toBeGreaterThan(answer[1]!.score * 2);
    ranker.remove('pictures');
    expect(ids(ranker, 'picture')).toEqual(['images']);
  });

  it('R2 gives the same first places however many are asked for', () => {
    const many = Array.from({ length: 200 }, (_, at) =>
      document(`note-${at}`, {
        description: `Keeps meeting ${at % 3 === 0 ? 'notes' : 'minutes and notes'}${' padding'.repeat(at % 7)}`,
        body: at % 5 === 0 ? 'notes of a meeting' : 'meeting',
      }),
    );
    const ranker = rankerOf(...many);
    const all = ids(ranker, 'meeting notes', 200);
    expect(all).toHaveLength(200);
    for (const k of [1, 10, 59, 60, 61, 150]) expect(ids(ranker, 'meeting notes', k)).toEqual(all.slice(0, k));
  });
});

const SYNONYMS = new URL('../../../packages/word-ranker/synonyms.ts', import.meta.url);

it('R2 every term of a group means the others of it, although only groups that begin like an asked term are read', () => {
  const [, table = ''] = /const GROUPS = `([^`]+)`/.exec(readFileSync(SYNONYMS, 'utf8')) ?? [];
  const expected = new Map<string, Set<string>>();
  for (const group of table.split(/[\n;]/)) {
    const terms: string[] = [];
    eachTerm(group, (term) => terms.push(term));
    for (const term of terms) expected.set(term, new Set([...(expected.get(term) ?? []), ...terms.filter((other) => other !== term)]));
  }
  expect(expected.size).toBeGreaterThan(600);
  for (const [term, others] of expected) expect([term, ...synonymsOf(term)]).toEqual([term, ...others]);
  expect(synonymsOf('databasewhatever')).toEqual([]);
  expect(synonymsOf('')).toEqual([]);
});

const WORDS = ['ships', 'rivers', 'engines', 'gardens', 'letters', 'bridges', 'winters'];

function planOf(number: number, version: number): TextDocument {
  const word = (step: number) => WORDS[(number * step + version) % WORDS.length]!;
  const id = `plan-${number}`;
  const body = `${word(3)} and ${word(5)} of edition${version}`;
  return { id, name: id, tags: [word(2)], description: `Plans ${word(1)} with ${word(4)}.`, examples: [], body };
}

it('R1 ranks after thousands of changes as one that knows only what is left, while numbers of removed skills are given again', () => {
  const changed = new Bm25fRanker();
  const left = new Map<number, number>();
  for (let step = 0; step < 6000; step++) {
    const number = (step * 7919) % 400;
    if (step % 5 === 4) {
      changed.remove(`plan-${number}`);
      left.delete(number);
    } else {
      changed.upsert(planOf(number, step));
      left.set(number, step);
    }
    if (step % 500 !== 499) continue;
    const fresh = new Bm25fRanker();
    for (const [one, version] of left) fresh.upsert(planOf(one, version));
    for (const query of ['ships', 'rivers with gardens', `letters of edition${step - 1}`, 'plan-17', 'edition3']) {
      for (const weak of [false, true]) expect(changed.rank(query, { k: 50, weak })).toEqual(fresh.rank(query, { k: 50, weak }));
    }
  }
});
