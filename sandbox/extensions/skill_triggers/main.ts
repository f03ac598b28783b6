import type { AgentSpec, ContextParts, ContextProvider, ExtensionContext, Remote, TopicMap, TurnInfo, TurnProvider } from 'pith';
import {
  SkillExplainer,
  SkillLibrary,
  SkillMode,
  SkillSuggester,
  type SkillRecord,
  type SkillRecords,
  skillsOffered,
  skillUsed,
} from 'pith/skill_registry';
import { fieldsOf } from '@pith/plain-data';
import { agentKeySchema, configSchema, type TriggersConfig } from './config.ts';
import { decide, explanationOf, offeredIn, referenceOf, suggestionOf, type TriggerDecision } from './decision.ts';
import { MatchedByThread, type MatchedSkills } from './matched-skills.ts';
import { type MessageParts, messageParts } from './message-parts.ts';
import { PatternCache } from './pattern-cache.ts';
import { TriggerIndex } from './trigger-index.ts';

const MODE = 'triggers';

/** How many turns after its match a skill stays in. */
const STAYS_FOR = 3;

/** What a turn gets of the skills, decided once for all callers. */
interface Decided {
  readonly records: SkillRecords;
  readonly decision: TriggerDecision;
  readonly matched: MatchedSkills;
}

interface Turn {
  decided?: Promise<Decided>;
  /** The parts of its message, and their turn. */
  added?: { readonly turn: TurnInfo; readonly decided: Decided; readonly message: MessageParts };
}

/** The mode `triggers`, in which a message itself loads the skills that it needs. */
export default class SkillTriggers implements ContextProvider, TurnProvider, SkillMode, SkillSuggester, SkillExplainer {
  static get config() {
    return configSchema();
  }

  static get agentKeys() {
    return { triggers: agentKeySchema() };
  }

  readonly contextPriority = 60;
  readonly #context: ExtensionContext<TriggersConfig>;
  readonly #library: Remote<SkillLibrary>;
  readonly #matched: MatchedByThread;
  readonly #patterns: PatternCache;
  /** By the list of skills that they are made from. */
  readonly #indexes = new WeakMap<SkillRecords['skills'], Promise<TriggerIndex>>();
  readonly #withTriggers = new WeakMap<SkillRecords['skills'], SkillRecords['skills']>();
  readonly #turns = new Map<string, Turn>();

  constructor(context: ExtensionContext<TriggersConfig>) {
    this.#context = context;
    this.#library = context.use(SkillLibrary);
    this.#matched = new MatchedByThread(context);
    this.#patterns = new PatternCache(context.clock);
    context.own(context.events.handle('turn.started', (start) => this.#started(start)));
    context.own(() => this.#matched.settled());
    for (const protocol of [SkillMode, SkillSuggester, SkillExplainer]) context.provide<object>(protocol, this);
  }

  async modeOf({ keys }: AgentSpec): Promise<string | null> {
    return keys[MODE] !== undefined || fieldsOf(keys['skills'])['mode'] === MODE ? MODE : null;
  }

  beginTurn({ id }: TurnInfo): void {
    if (!this.#turns.has(id)) this.#turns.set(id, {});
  }

  endTurn({ id }: TurnInfo): void {
    this.#turns.delete(id);
  }

  async getContext(_prompt: string, turn: TurnInfo, signal?: AbortSignal): Promise<ContextParts | null> {
    if ((await this.modeOf(turn.agent)) === null) return null;
    const decided = await this.#decided(turn);
    const ports = { library: this.#library, logger: this.#context.logger };
    const message = await messageParts(ports, decided.decision, offeredIn(decided.records), turn);
    const known = this.#turns.get(turn.id);
    if (known !== undefined && !signal?.aborted) known.added = { turn, decided, message }; // an aborted turn loads nothing
    return message.parts;
  }

  async skillsFor(turn: TurnInfo): Promise<readonly string[]> {
    if ((await this.modeOf(turn.agent)) === null) return [];
    const { chosen, active } = (await this.#decided(turn)).decision;
    return [...chosen, ...active].map(({ id }) => id);
  }

  /** Skills whose triggers match the newest message, as many as it would load in the mode `triggers`. */
  async suggestionsFor(turn: TurnInfo): Promise<readonly string[]> {
    const records = this.#triggered(await this.#library.records({ turn }));
    if (records.skills.length === 0) return [];
    const maxSkills = this.#mostOf(turn.agent, records);
    const text = turn.userTexts.at(-1) ?? '';
    const recent = turn.held.map(({ key }) => key).reverse();
    const { chosen } = await decide({ records, index: await this.#index(records), text, maxSkills, recent, matched: [] });
    return chosen.map(({ id }) => id);
  }

  async explainSkill(skill: SkillRecord, { agent, text }: { readonly agent: AgentSpec | null; readonly text: string | null }) {
    const hasMode = agent !== null && (await this.modeOf(agent)) !== null;
    if (agent === null || text === null || (!hasMode && skill.triggers === null)) return null;
    const library = await this.#library.records({ agent });
    const records = hasMode ? library : this.#triggered(library);
    const maxSkills = this.#mostOf(agent, records);
    const decision = await decide({ records, index: await this.#index(records), text, maxSkills, recent: [], matched: [] });
    return hasMode ? explanationOf(skill, text, decision, maxSkills) : suggestionOf(skill, decision);
  }

  /** A preview, which no turn begins, decides each time. */
  #decided(turn: TurnInfo): Promise<Decided> {
    const known = this.#turns.get(turn.id);
    if (known === undefined) return this.#decide(turn);
    if (known.decided === undefined) {
      known.decided = this.#decide(turn);
      known.decided.catch(() => delete known.decided); // the caller gets the rejection
    }
    return known.decided;
  }

  async #decide(turn: TurnInfo): Promise<Decided> {
    const [records, before] = await Promise.all([this.#library.records({ turn }), this.#matched.of(turn.threadId)]);
    const now = before.turnId === turn.id ? before.turns : before.turns + 1;
    const decision = await decide({
      records,
      index: await this.#index(records),
      text: turn.userTexts.at(-1) ?? '',
      maxSkills: this.#mostOf(turn.agent, records),
      recent: [...before.matched.map(([reference]) => reference), ...turn.held.map(({ key }) => key).reverse()],
      matched: before.matched.filter(([, at]) => at < now && now - at <= STAYS_FOR).map(([reference]) => reference),
    });
    return { records, decision, matched: before };
  }

  /** Where a catalog offers the others, only skills with triggers are suggested by them. */
  #triggered(records: SkillRecords): SkillRecords {
    let skills = this.#withTriggers.get(records.skills);
    if (skills === undefined) this.#withTriggers.set(records.skills, (skills = records.skills.filter(({ triggers }) => triggers !== null)));
    return { ...records, skills, all: skills };
  }

  #index({ skills, all }: SkillRecords): Promise<TriggerIndex> {
    let made = this.#indexes.get(skills);
    if (made === undefined) this.#indexes.set(skills, (made = TriggerIndex.of({ skills, all }, this.#patterns)));
    return made;
  }

  /** By the agent's key, its former `skills: { mode: triggers, max_skills }`, else the settings. */
  #mostOf({ keys }: AgentSpec, { agent }: SkillRecords): number {
    const own = keys[MODE] === undefined ? agent?.settings['max_skills'] : fieldsOf(keys[MODE])['max_skills'];
    return typeof own === 'number' ? own : this.#context.config.max_skills;
  }

  /** The turn is not a preview. Of the planned texts, those in its message count. A continued turn has reported them before. */
  #started({ turnId, documents }: TopicMap['turn.started']): void {
    const added = this.#turns.get(turnId)?.added;
    if (added === undefined || added.decided.matched.turnId === turnId) return;
    const { turn, decided, message } = added;
    const { threadId, correlationId } = turn;
    const about = { turnId, threadId, agentId: turn.agent.id, correlationId };
    const isGiven = (key: string, sha256: string) => documents.some((document) => document.key === key && document.digest === sha256);
    const loads = message.loads.filter(({ reference, sha256, again }) => again || isGiven(reference, sha256));
    const readable = offeredIn(decided.records).length;
    const { offered, shown } = message;
    const counts = { readable, offered: offered === 'all' ? readable : offered.length, shown: shown.length };
    this.#context.events.publish(skillsOffered, { ...about, offered, shown, counts });
    for (const { reference: skillId, sha256, again, carried } of loads)
      this.#context.events.publish(skillUsed, {
        ...about,
        skillId,
        state: 'loaded',
        how: 'trigger',
        sha256,
        ...(again ? { again } : {}),
        ...(carried ? { carried } : {}),
      });
    const matches = loads.filter(({ carried }) => !carried).map(({ skill }) => referenceOf(skill));
    this.#matched.add(threadId, turnId, decided.matched, matches);
  }
}
