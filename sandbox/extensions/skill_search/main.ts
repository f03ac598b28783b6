import {
  codeOf,
  type Command,
  type CommandProvider,
  type Diagnostic,
  type ExtensionContext,
  messageOf,
  type TurnInfo,
  type TurnProvider,
} from 'pith';
import {
  type FoundSkills,
  type RankedSkill,
  type RankerDocument,
  RankerProvider,
  SkillExplainer,
  SkillLibrary,
  type SkillRecord,
  skillsChanged,
  skillUsed,
} from 'pith/skill_registry';
import { stateFolder } from '@pith/safe-files';
import { type Config, configSchema } from './config.ts';
import { type RerankOptions, SearchMeasurer } from './contract.ts';
import type { SkillFinder } from './commands.ts';
import { LearnedExamples } from './learning/learned-examples.ts';
import { digestOf, WrittenExamples } from './enriching/written-examples.ts';
import { ExampleRecorder } from './learning/example-recorder.ts';
import { Reranking } from './reranking.ts';
import { KeptIndex } from './kept-index.ts';
import { SearchIndex } from './search-index.ts';
import { hasWordVectors, wordVectors } from './vectors.ts';

/** How many skills of the words' answer a re-ranker gets. */
const DEPTH = 100;

/** Finds the skills that fit a request. */
export default class SkillSearch implements CommandProvider, TurnProvider, SkillFinder {
  static get config() {
    return configSchema();
  }

  private readonly context: ExtensionContext<Config>;
  private readonly vectors: ReturnType<typeof wordVectors>;
  private readonly kept: KeptIndex;
  private readonly index: SearchIndex;
  private readonly reranking: Reranking;
  /** null where learning is off. */
  private readonly learned: LearnedExamples | null;
  private readonly written: WrittenExamples;
  private readonly recorder: ExampleRecorder | null;

  constructor(context: ExtensionContext<Config>) {
    this.context = context;
    const { events, logger } = context;
    const library = context.use(SkillLibrary);
    this.learned = context.config.learn_examples ? new LearnedExamples(context) : null;
    this.vectors = wordVectors(context);
    const { vectors } = this;
    this.written = new WrittenExamples(context);
    const kept = (this.kept = new KeptIndex(stateFolder(context.dataDirectory, '.cache'), logger));
    this.index = new SearchIndex({ learned: this.learned, written: this.written, document: (id) => this.document(id), vectors, kept });
    context.own(() => this.index.keep());
    this.reranking = new Reranking(context, { revision: () => this.index.revision, vectors });
    context.own(() => this.reranking.close());
    context.provide(RankerProvider, {
      recall: (versions) => this.index.recall(versions),
      upsert: (documents, signal) => this.index.upsert(documents, signal),
      remove: (ids) => this.index.remove(ids),
      rank: async (query, { k, among, weak, seed }) => (await this.ranked(query, { k, among, weak, seed }, false)).ranked,
    });
    context.provide(SearchMeasurer, {
      measure: async (question, signal) => {
        const { measurer } = await import('./evaluation/measurer.ts');
        const { learned, written, reranking } = this;
        const find: ExtensionContext['find'] = (protocol) => context.find(protocol);
        return measurer({ library, find, learned, written, reranking, vectors }).measure(question, signal);
      },
    });
    context.provide(SkillExplainer, { explainSkill: (...asked) => this.explain(asked) });
    this.recorder =
      this.learned === null
        ? null
        : new ExampleRecorder({
            learned: this.learned,
            logger,
            skillOf: async (id) => (await library.records()).skills.find((skill) => skill.id === id),
            allows: async ({ agent }) => (await library.records({ agent })).agent?.settings['learn_examples'] !== false,
          });
    if (this.recorder === null) return;
    const { recorder } = this;
    context.own(() => recorder.settled());
    context.own(events.handle(skillUsed, (use) => recorder.used(use)));
    context.own(events.handle(skillsChanged, ({ removed }) => recorder.gone(removed)));
  }

  async find(query: string, options: Parameters<SkillFinder['find']>[1], signal?: AbortSignal): Promise<FoundSkills> {
    const library = this.context.use(SkillLibrary);
    const found = await library.search(query, options, signal);
    if (found.by !== this.context.id) return found;
    const scope = options.agent === undefined ? null : (await library.records({ agent: options.agent })).agent;
    const { ranked, by } = await this.ranked(query, { k: options.k, among: scope?.readable, weak: true }, true);
    return { ranked, by, note: by === 'fused' ? null : await this.reranking.note() };
  }

  private async explain(asked: Parameters<SkillExplainer['explainSkill']>): ReturnType<SkillExplainer['explainSkill']> {
    const { explainRanking } = await import('./commands.ts');
    const written = async ({ id, source }: SkillRecord) => {
      await this.written.look();
      return this.written.of(digestOf(await this.context.use(SkillLibrary).document(`${source}/${id}`))).length;
    };
    return explainRanking(this, { learned: this.learned, written }, asked);
  }

  beginTurn(turn: TurnInfo): void {
    this.recorder?.began(turn);
  }

  endTurn(turn: TurnInfo, reason: Parameters<ExampleRecorder['ended']>[1]): void {
    this.recorder?.ended(turn, reason);
  }

  async getCommands(): Promise<readonly Command[]> {
    const { forget } = await import('./learning/forget.ts');
    const { enrich } = await import('./enriching/enrich.ts');
    const { search } = await import('./commands.ts');
    const library = this.context.use(SkillLibrary);
    return [search(this, library), enrich(this.context, library, this.written), forget(this.context, library)];
  }

  /** null where the skill is gone, or cannot be read now. */
  private async document(id: string): Promise<RankerDocument | null> {
    try {
      return await this.context.use(SkillLibrary).document(id);
    } catch (error) {
      if (codeOf(error, '') !== 'skill_not_found')
        this.context.logger.warn(`what was learned of the skill '${id}' is not searched yet: ${messageOf(error)}`);
      return null;
    }
  }

  async findings(): Promise<readonly Diagnostic[]> {
    const found = [...(await this.reranking.findings()), ...this.kept.findings()];
    if (await hasWordVectors(this.context)) return found;
    const message = 'the table of word vectors is not there: skills are found by their words alone';
    return [...found, { severity: 'warning', code: 'vectors_missing', message, cure: 'install Pith again' }];
  }

  private async ranked(
    query: string,
    { k, among, weak, seed }: Omit<RerankOptions, 'complete'> & { readonly seed?: string },
    isComplete: boolean,
  ): Promise<{ readonly ranked: readonly RankedSkill[]; readonly by: 'lexical' | 'fused' }> {
    const allowed = among === undefined ? null : new Set(among);
    const reranks = (await this.reranking.current(isComplete)) !== null;
    const words = await this.index.rank(query, {
      k: reranks ? Math.max(k, DEPTH) : k,
      weak,
      seed,
      ...(allowed === null ? {} : { among: (id: string) => allowed.has(id) }),
    });
    if (!reranks) return { ranked: words, by: 'lexical' };
    const better = await this.reranking.of(query, words, { k, weak, ...(among === undefined ? {} : { among }) }, isComplete);
    return better === null ? { ranked: words.slice(0, k), by: 'lexical' } : { ranked: better, by: 'fused' };
  }
}
