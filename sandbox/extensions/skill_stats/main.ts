import { type AgentSpec, type Command, type CommandProvider, type ExtensionContext, type TurnProvider, z } from 'pith';
import { once } from '@pith/promises';
import { SkillExplainer, type SkillRecord, skillsOffered, skillsSearched, skillUsed } from 'pith/skill_registry';
import { Ledger } from './ledger.ts';

const configSchema = once(() =>
  z.strictObject({
    /** How many days the use of skills is recorded for; 0: nothing is recorded. */
    stats_days: z.int().min(0).max(3650).default(90),
  }),
);

/** Records how skills are used, and reports it. */
export default class SkillStats implements CommandProvider, TurnProvider {
  static get config() {
    return configSchema();
  }

  readonly #context: ExtensionContext<z.output<ReturnType<typeof configSchema>>>;
  readonly #ledger: Ledger;

  constructor(context: ExtensionContext<z.output<ReturnType<typeof configSchema>>>) {
    this.#context = context;
    const { database, clock, logger, events, config } = context;
    this.#ledger = new Ledger({ database, clock, logger, keepDays: config.stats_days });
    context.provide(SkillExplainer, { explainSkill: (skill, { agent }) => this.#uses(skill, agent) });
    context.own(events.handle(skillUsed, (use) => this.#ledger.used(use)));
    context.own(events.handle(skillsOffered, (offer) => this.#ledger.offered(offer)));
    context.own(events.handle(skillsSearched, (search) => this.#ledger.searched(search)));
    context.own(events.handle('tool.called', (call) => this.#ledger.called(call)));
    context.own(events.handle('turn.ended', (turn) => this.#ledger.ended(turn)));
    context.own(
      events.handle('thread.compacted', async (compaction) => {
        for (const use of await this.#ledger.compacted(compaction)) events.publish(skillUsed, use);
      }),
    );
    context.own(() => this.#ledger.flush());
  }

  /** Being a turn provider, the extension is loaded when a turn begins, and so gets its events. */
  endTurn(): void {
    void this.#ledger.flush();
  }

  async getCommands(): Promise<readonly Command[]> {
    const { stats } = await import('./stats.ts');
    const { suggest } = await import('./suggest.ts');
    return [stats(this.#context, this.#ledger), suggest(this.#context, this.#ledger)];
  }

  async #uses(skill: SkillRecord, agent: AgentSpec | null) {
    const { usesOf } = await import('./stats.ts');
    await this.#ledger.flush();
    return usesOf(this.#context, skill.id, agent);
  }
}
