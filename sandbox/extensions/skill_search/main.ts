import type { Command, CommandProvider, Diagnostic, ExtensionContext, TurnInfo, TurnProvider } from 'pith';
import {
  type FoundSkills,
  type RankedSkill,
  type RankerDocument,
  type RankerOptions,
  RankerProvider,
  SkillExplainer,
  SkillLibrary,
  skillsChanged,
  skillUsed,
} from 'pith/skill_registry';
import { type Config, configSchema } from './config.ts';
import type { RerankOptions } from './contract.ts';
import { explainRanking, type SkillFinder } from './explain.ts';
import { LearnedExamples } from './learning/learned-examples.ts';
import { TurnLessons } from './learning/turn-lessons.ts';
import { Reranking } from './reranking.ts';
import { SearchIndex } from './search-index.ts';

/** Of the words' answer, where something else puts it into a better order. */
const DEPTH = 100;

/** Finds the skills that fit a request. */
export default class SkillSearch implements RankerProvider, SkillExplainer, CommandProvider, TurnProvider, SkillFinder {
  static get config() {
    return configSchema();
  }

  static readonly protocols = [RankerProvider, SkillExplainer];

  private readonly context: ExtensionContext<Config>;
  private readonly index: SearchIndex;
  private readonly reranking: Reranking;
  /** null where nothing may be learned. */
  private readonly learned: LearnedExamples | null;
  private readonly lessons: TurnLessons | null;

  constructor(context: ExtensionContext<Config>) {
    this.context = context;
    const { events, logger } = context;
    const library = context.use(SkillLibrary);
    this.learned = context.config.learn_examples ? new LearnedExamples(context) : null;
    this.index = new SearchIndex({ learned: this.learned, document: (id) => library.document(id).catch(() => null) }); // it is gone
    this.reranking = new Reranking(context, () => this.index.revision);
    context.own(() => this.reranking.close());
    this.lessons =
      this.learned === null
        ? null
        : new TurnLessons({
            learned: this.learned,
            logger,
            skillOf: async (id) => (await library.records()).skills.find((skill) => skill.id === id),
            allows: async ({ agent }) => (await library.records({ agent })).agent?.settings['learn_examples'] !== false,
          });
    if (this.lessons === null) return;
    const { lessons } = this;
    context.own(() => lessons.settled());
    context.own(events.handle(skillUsed, (use) => lessons.used(use)));
    context.own(events.handle(skillsChanged, ({ removed }) => lessons.gone(removed)));
  }

  upsert(documents: readonly RankerDocument[], signal?: AbortSignal): Promise<void> {
    return this.index.upsert(documents, signal);
  }

  remove(ids: readonly string[]): Promise<void> {
    return this.index.remove(ids);
  }

  async rank(query: string, { k, among, weak, seed }: RankerOptions): Promise<readonly RankedSkill[]> {
    return (await this.ranked(query, { k, among, weak, seed }, false)).ranked;
  }

  async find(query: string, options: Parameters<SkillFinder['find']>[1], signal?: AbortSignal): Promise<FoundSkills> {
    const library = this.context.use(SkillLibrary);
    const found = await library.search(query, options, signal);
    if (found.by !== this.context.id) return found;
    const scope = options.agent === undefined ? null : (await library.records({ agent: options.agent })).agent;
    const { ranked, by } = await this.ranked(query, { k: options.k, among: scope?.readable }, true);
    return { ranked, by, note: by === 'fused' ? null : await this.reranking.note() };
  }

  explainSkill(...asked: Parameters<SkillExplainer['explainSkill']>): ReturnType<SkillExplainer['explainSkill']> {
    return explainRanking(this, this.learned, asked);
  }

  beginTurn(turn: TurnInfo): void {
    this.lessons?.began(turn);
  }

  endTurn(turn: TurnInfo, reason: Parameters<TurnLessons['ended']>[1]): void {
    this.lessons?.ended(turn, reason);
  }

  async getCommands(): Promise<readonly Command[]> {
    const { evaluate } = await import('./evaluation/command.ts');
    const { forget } = await import('./learning/forget.ts');
    const { search } = await import('./search-command.ts');
    const library = this.context.use(SkillLibrary);
    return [
      search(this, library),
      evaluate(this.context, { library, learned: this.learned, reranking: this.reranking }),
      forget(this.context, library),
    ];
  }

  findings(): Promise<readonly Diagnostic[]> {
    return this.reranking.findings();
  }

  private async ranked(
    query: string,
    { k, among, weak, seed }: Omit<RerankOptions, 'complete'> & { readonly seed?: string },
    isPatient: boolean,
  ): Promise<{ readonly ranked: readonly RankedSkill[]; readonly by: 'lexical' | 'fused' }> {
    const allowed = among === undefined ? null : new Set(among);
    const words = await this.index.rank(query, {
      k: Math.max(k, DEPTH),
      weak,
      seed,
      ...(allowed === null ? {} : { among: (id: string) => allowed.has(id) }),
    });
    const better = await this.reranking.of(query, words, { k, weak, ...(among === undefined ? {} : { among }) }, isPatient);
    return better === null ? { ranked: words.slice(0, k), by: 'lexical' } : { ranked: better, by: 'fused' };
  }
}
