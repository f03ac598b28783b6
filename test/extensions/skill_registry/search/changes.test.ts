import { expect, it } from 'vitest';
import { Bm25fRanker } from '../../../../sandbox/extensions/skill_registry/search/bm25f.ts';
import type { SearchDocument } from '../../../../sandbox/extensions/skill_registry/search/ranker.ts';

const WORDS = ['ships', 'rivers', 'engines', 'gardens', 'letters', 'bridges', 'winters'];

function document(number: number, version: number): SearchDocument {
  const word = (step: number) => WORDS[(number * step + version) % WORDS.length]!;
  const id = `plan-${number}`;
  const body = `${word(3)} and ${word(5)} of edition${version}`;
  return { id, version: String(version), name: id, tags: [word(2)], description: `Plans ${word(1)} with ${word(4)}.`, examples: [], body };
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
      changed.upsert(document(number, step));
      left.set(number, step);
    }
    if (step % 500 !== 499) continue;
    const fresh = new Bm25fRanker();
    for (const [one, version] of left) fresh.upsert(document(one, version));
    for (const query of ['ships', 'rivers with gardens', `letters of edition${step - 1}`, 'plan-17', 'edition3']) {
      for (const weak of [false, true]) expect(changed.rank(query, { k: 50, weak })).toEqual(fresh.rank(query, { k: 50, weak }));
    }
  }
});
