import { type ExtensionContext, PithError, type Remote } from 'pith';
import { type RankerDocument, RankerProvider, type SkillLibrary } from 'pith/skill_registry';
import { printableLine } from '@pith/plain-text';
import type { WordVectors } from '@pith/word-ranker';
import type { SearchAnswer, SearchFigures, SearchMeasurer, SearchOutcome, SearchQuestion, SearchReport } from '../contract.ts';
import { digestOf, type WrittenExamples } from '../enriching/written-examples.ts';
import type { LearnedExamples } from '../learning/learned-examples.ts';
import type { Reranking } from '../reranking.ts';
import { isOffered } from '../commands.ts';
import { searchedOf } from '../search-index.ts';
import { casesOf, distinct, figuresOf, isIn, LeaveOneOutRanker, outcomesOf, positive } from './evaluate.ts';
import { documentsOf, ENOUGH_CASES, rankByProvider, rankByReranker } from './measure.ts';

const LEXICAL = 'lexical';
const FUSED = 'fused';

export interface MeasurerPorts {
  readonly library: Remote<SkillLibrary>;
  readonly find: ExtensionContext['find'];
  /** null where learning is off. */
  readonly learned: LearnedExamples | null;
  readonly written: WrittenExamples;
  readonly reranking: Reranking;
  vectors(): Promise<WordVectors | null>;
}

/** Asks the rankers with what people say. */
export function measurer({ library, find, learned, written, reranking, vectors }: MeasurerPorts): SearchMeasurer {
  return {
    async measure(question, signal = new AbortController().signal) {
      const { ranker: named, replacements = [] } = question;
      await learned?.look();
      await written.look();
      const extras = (document: RankerDocument) => [...(learned?.of(document.id) ?? []), ...written.of(digestOf(document))];
      const { skills } = await library.records();
      const offered = skills.filter(isOffered).map(({ id }) => id);
      const found = await documentsOf(offered, library, signal, extras);
      const documents = new Map([
        ...found,
        ...replacements.map((document) => [document.id, searchedOf(document, extras(document))] as const),
      ]);
      const own = skills.filter(({ id }) => question.skills.includes(id));
      const asked = own.flatMap((skill) => [...casesOf(skill), ...positive(skill.id, 'learned', learned?.of(skill.id) ?? [])]);
      const all = distinct([...asked, ...question.cases]);
      const knowsThem = named !== LEXICAL && named !== FUSED;
      const cases = knowsThem ? all.filter((one) => !isIn(documents.get(one.skillId), one)) : all;
      const lexical = new LeaveOneOutRanker(documents, await vectors());
      await lexical.prepare(signal);
      const reports = [reportOf(LEXICAL, await outcomesOf(cases, (one) => lexical.rank(one), signal))];
      if (named === FUSED) {
        const reranker = await reranking.current();
        if (reranker === null)
          throw new PithError('not_found', 'no embedding model is set up', { cure: 'set extensions.embedding.model in pith.yaml' });
        reports.push(reportOf(named, await outcomesOf(cases, await rankByReranker(cases, lexical, reranker, { signal }), signal)));
        await reranking.examined(reranker);
      } else if (named !== LEXICAL) {
        const ranker = find(RankerProvider).find(({ extensionId }) => extensionId === named);
        if (ranker === undefined) throw unknownRanker(named, find(RankerProvider));
        const given = await Promise.all(offered.map((id) => library.document(id)));
        reports.push(reportOf(named, await outcomesOf(cases, await rankByProvider(ranker, given, signal), signal)));
      }
      const refused = named === FUSED ? refusal(reports[0]!.figures, reports.at(-1)!.figures) : null;
      return { reports, leftOut: all.length - cases.length, refused } satisfies SearchAnswer;
    },
  };
}

function unknownRanker(named: SearchQuestion['ranker'], rankers: readonly Remote<RankerProvider>[]): PithError {
  const names = [LEXICAL, FUSED, ...rankers.map(({ extensionId }) => extensionId)].join(', ');
  return new PithError('not_found', `there is no ranker '${printableLine(named)}'`, { cure: `use one of ${names}` });
}

function reportOf(name: string, outcomes: readonly SearchOutcome[]): SearchReport {
  return { name, figures: figuresOf(outcomes), outcomes };
}

function refusal(lexical: SearchFigures, fused: SearchFigures): string | null {
  if (fused.cases < ENOUGH_CASES || fused.ndcgAt10 >= lexical.ndcgAt10 - 1e-9) return null;
  const [before, after] = [lexical.ndcgAt10.toFixed(3), fused.ndcgAt10.toFixed(3)];
  return `the embedding model lowers nDCG@10 on ${fused.cases} examples from ${before} to ${after}: do not use it`;
}
