import { type Diagnostic, type ExtensionContext, messageOf, type Remote } from 'pith';
import { type RankedSkill, SkillLibrary } from 'pith/skill_registry';
import { within } from '@pith/promises';
import type { WordVectors } from '@pith/word-ranker';
import { RerankerProvider, type RerankOptions } from './contract.ts';
import { ENOUGH_CASES, exampleCases, figuresText, isWorse, type Measure, measure } from './evaluation/measure.ts';

/** How long a turn waits for a better order; a later one is not used. */
const TURN_MS = 150;
/** How long a person who typed a command waits. */
const COMMAND_MS = 2000;
const KEPT = 'measure:';

type Ports = Pick<ExtensionContext, 'find' | 'use' | 'kv' | 'clock' | 'logger'>;

/** The source of the order to improve. */
export interface RankedIndex {
  /** Grows with every change: the order is measured again only after one. */
  revision(): number;
  vectors(): Promise<WordVectors | null>;
}

/** Lets a re-ranker improve the order by words, where its measure says that it does. */
export class Reranking {
  /** Re-rankers of unknown state: each is loaded once, to ask whether it is set up. */
  private readonly probed = new Map<string, Promise<unknown>>();
  private readonly end = new AbortController();
  private late = 0;
  private measuring: Promise<void> = Promise.resolve();
  private measured = '';

  constructor(
    private readonly ports: Ports,
    private readonly index: RankedIndex,
  ) {}

  /** null where words decide. Never rejects. `isComplete`: for a command, which has no next time. */
  async of(
    query: string,
    found: readonly RankedSkill[],
    options: RerankOptions,
    isComplete: boolean,
  ): Promise<readonly RankedSkill[] | null> {
    const reranker = await this.current(isComplete);
    if (reranker === null || (await this.isRefused(reranker))) return null;
    const { clock } = this.ports;
    const asked = reranker
      .rerank([{ query, found }], isComplete ? { ...options, complete: true } : options, this.end.signal)
      .then(([answer]) => answer ?? null)
      .catch((error: unknown) => {
        if (!isComplete && !this.end.signal.aborted)
          this.ports.logger.warn(`skills are found by their words alone for now: ${messageOf(error)}`);
        return null;
      });
    if (this.late > 0 && !isComplete) return null; // while one is late, nobody waits for another
    const answer = await within(clock, isComplete ? COMMAND_MS : TURN_MS, asked, () => {
      this.late++;
      void asked.finally(() => this.late--);
      return null;
    });
    if (answer !== null) this.examine(reranker);
    return answer;
  }

  /** Why a command's answer is by words alone; null where no re-ranker is set up. */
  async note(): Promise<string | null> {
    const reranker = await this.current(false);
    if (reranker === null) return null;
    const why = (await this.isRefused(reranker)) ? 'makes the order worse and is not used' : 'gave no vectors in time';
    return `ranked by words alone: the embedding model ${reranker.rerankModel} ${why}; see pith doctor`;
  }

  /** The first re-ranker that is set up, by id. One of unknown state is loaded once, by a caller that has time or in the background. */
  async current(waits = true): Promise<Remote<RerankerProvider> | null> {
    const all = [...this.ports.find(RerankerProvider)].sort((a, b) => (a.extensionId < b.extensionId ? -1 : 1));
    for (const one of all)
      if (one.rerankModel === undefined && !this.probed.has(one.extensionId))
        this.probed.set(
          one.extensionId,
          one.rerank([], { k: 1 }).catch(() => null),
        ); // its own failure is recorded with it
    if (waits) await Promise.all(this.probed.values());
    return all.find(({ rerankModel }) => typeof rerankModel === 'string' && rerankModel !== '') ?? null;
  }

  /** Resolves when the re-ranker's figures for the present skills are known. */
  async examined(reranker: Remote<RerankerProvider>): Promise<void> {
    this.examine(reranker);
    await this.measuring;
  }

  /** The findings of `pith doctor` about its figures. */
  async findings(): Promise<readonly Diagnostic[]> {
    const reranker = await this.current();
    const model = reranker?.rerankModel ?? null;
    if (reranker === null || model === null) return [];
    await within(this.ports.clock, COMMAND_MS, this.measuring);
    const known = await this.measureOf(model);
    if (known !== null && isWorse(known)) {
      const refused = reranker.evenIfWorse ? ', and is used because skills.embedding is always' : ': it is not used';
      const cure = 'name another model in extensions.embedding.model, or set skills.embedding to always';
      return [{ severity: 'warning', code: 'embedding_refused', message: `${figuresText(model, known)}${refused}`, cure }];
    }
    const { cases } = exampleCases((await this.ports.use(SkillLibrary).records()).skills);
    if (known !== null || cases.length >= ENOUGH_CASES) return [];
    const message = `the embedding model ${model} is used without having been measured: the skills have ${cases.length} examples, ${ENOUGH_CASES} are needed`;
    const cure = "give skills 'examples', or ask: pith skills eval --ranker fused";
    return [{ severity: 'info', code: 'embedding_unmeasured', message, cure }];
  }

  async close(): Promise<void> {
    this.end.abort();
    await this.measuring;
  }

  private async isRefused({ rerankModel, evenIfWorse }: Remote<RerankerProvider>): Promise<boolean> {
    const known = evenIfWorse ? null : await this.measureOf(String(rerankModel));
    return known !== null && isWorse(known);
  }

  private async measureOf(model: string): Promise<Measure | null> {
    return (await this.ports.kv.get(KEPT + model)) as Measure | null;
  }

  /** In the background, once for each state of the index. */
  private examine(reranker: Remote<RerankerProvider>): void {
    const state = `${reranker.rerankModel} ${this.index.revision()}`;
    if (state === this.measured || this.end.signal.aborted) return;
    this.measured = state;
    this.measuring = this.measuring
      .then(() => this.measureNow(reranker))
      .catch((error: unknown) => {
        if (!this.end.signal.aborted)
          this.ports.logger.warn(`the embedding model ${reranker.rerankModel} could not be measured: ${messageOf(error)}`);
      });
  }

  private async measureNow(reranker: Remote<RerankerProvider>): Promise<void> {
    const library = this.ports.use(SkillLibrary);
    const model = String(reranker.rerankModel);
    const all = exampleCases((await library.records()).skills);
    const was = await this.measureOf(model);
    if (all.cases.length < ENOUGH_CASES || this.end.signal.aborted || was?.digest === all.digest) return;
    const found = await measure(reranker, { library, vectors: await this.index.vectors() }, all, this.end.signal);
    await this.ports.kv.set(KEPT + model, { ...found });
    if (isWorse(found) && !reranker.evenIfWorse && (was === null || !isWorse(was)))
      this.ports.logger.warn(`${figuresText(model, found)}: it is not used; skills.embedding: always takes it nevertheless`);
  }
}
