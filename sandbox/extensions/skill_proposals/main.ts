import { type Command, type CommandProvider, type TurnInfo, type ToolProvider, type TurnProvider } from 'pith';
import { once } from '@pith/promises';
import { ThreadSources } from 'pith/skill_registry';
import { webRead } from 'pith/web';
import { config, type Context } from './config.ts';
import { SkillProposals } from './contract.ts';
import { Decisions } from './decisions.ts';
import { Notices } from './notices.ts';
import { OutsideSources } from './outside-sources.ts';
import { Proposals } from './proposal/proposals.ts';
import { isWaiting } from './proposal/states.ts';
import { Reviewer } from './reviewer.ts';
import { proposeTool } from './tools/propose-tool.ts';

/** Takes changes of skills that agents propose, and puts in place what a person agrees to. */
export default class SkillProposalsExtension implements ToolProvider, TurnProvider, CommandProvider {
  static get config() {
    return config();
  }

  readonly #context: Context;
  readonly #sources: OutsideSources;
  readonly #notices: Notices;
  readonly #decisions = once(() => new Decisions(this.#context, new Proposals(this.#context, this.#notices)));

  constructor(context: Context) {
    this.#context = context;
    this.#sources = new OutsideSources(context);
    this.#notices = new Notices(context);
    context.own(context.events.handle('tool.called', (call) => this.#sources.called(call)));
    context.own(context.events.handle(webRead, (read) => this.#sources.read(read)));
    context.provide(SkillProposals, { candidate: (id) => this.#candidate(id) });
    context.provide(ThreadSources, { sourcesOf: (threadId) => this.#sources.of(threadId) });
    context.jobs.define<{ id: string }>('review', async ({ payload, idempotencyKey }, signal) =>
      this.#reviewer().review(payload.id, idempotencyKey, signal),
    );
    context.jobs.define('tidy', () => this.#tidy());
  }

  beginTurn(turn: TurnInfo): void {
    this.#sources.began(turn);
  }

  endTurn(turn: TurnInfo): void {
    this.#sources.ended(turn);
  }

  getTools() {
    const ports = { context: this.#context, proposals: this.#decisions().proposals, sources: this.#sources, notices: this.#notices };
    return [proposeTool(ports), this.#reviewer().tool()];
  }

  async getCommands(): Promise<readonly Command[]> {
    const { proposalCommands } = await import('./commands/commands.ts');
    return proposalCommands(this.#context, this.#decisions());
  }

  #reviewer(): Reviewer {
    return new Reviewer(this.#context, this.#decisions(), this.#notices);
  }

  async #candidate(id: string): ReturnType<SkillProposals['candidate']> {
    const entry = await this.#decisions()
      .proposals.find(id)
      .catch(() => null); // there is none, or several begin so
    if (entry === null || entry.proposal === null || !isWaiting(entry.state)) return null;
    const review = await this.#decisions()
      .proposals.candidates.fit(entry.proposal)
      .catch(() => null); // the skill is gone
    if (review === null || 'conflicts' in review) return null;
    return { skill: entry.proposal.skill, before: review.present.directory, after: review.after.directory };
  }

  /** Proposals that nobody decided expire, and what was made for decided ones goes. */
  async #tidy(): Promise<void> {
    const { proposals } = this.#decisions();
    const entries = await proposals.list();
    proposals.candidates.keepOnly(new Set(entries.filter(({ state }) => isWaiting(state)).map(({ id }) => id)));
    await this.#sources.prune();
  }
}
