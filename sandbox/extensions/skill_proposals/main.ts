import { messageOf, type Command, type CommandProvider, type Diagnostic, type ToolProvider, type TurnInfo, type TurnProvider } from 'pith';
import { oncePromised } from '@pith/promises';
import { ThreadSources } from 'pith/skill_registry';
import { webRead } from 'pith/web';
import { config, type Context } from './config.ts';
import { SkillProposals } from './contract.ts';
import { OutsideSources } from './outside-sources.ts';
import { isWaiting } from './proposal/states.ts';
import { proposeTool } from './tools/propose-tool.ts';
import { reviewTool } from './tools/review-tool.ts';

/** What a reviewer answers with: it is never among the tools of an extension that is named as a whole. */
const REVIEWING = 'skill_proposals/review_skill_proposal';

/** Takes changes of skills that agents propose, and puts in place what a person agrees to. */
export default class SkillProposalsExtension implements ToolProvider, TurnProvider, CommandProvider {
  static get config() {
    return config();
  }

  readonly #context: Context;
  readonly #sources: OutsideSources;
  /** Loaded when somebody proposes or decides: every turn loads the extension. */
  readonly #parts = oncePromised(async () => {
    const [{ Decisions }, { Notices }, { Proposals }, { Reviewer }] = await Promise.all([
      import('./decisions.ts'),
      import('./notices.ts'),
      import('./proposal/proposals.ts'),
      import('./reviewer.ts'),
    ]);
    const notices = new Notices(this.#context);
    const decisions = new Decisions(this.#context, new Proposals(this.#context, notices));
    return { notices, decisions, proposals: decisions.proposals, reviewer: new Reviewer(this.#context, decisions, notices) };
  });

  constructor(context: Context) {
    this.#context = context;
    this.#sources = new OutsideSources(context);
    context.own(context.events.handle('tool.called', (call) => this.#sources.called(call)));
    context.own(context.events.handle(webRead, (read) => this.#sources.read(read)));
    context.provide(SkillProposals, { candidate: (id) => this.#candidate(id) });
    context.provide(ThreadSources, { sourcesOf: (threadId) => this.#sources.of(threadId) });
    context.jobs.define<{ id: string }>('review', async ({ payload, idempotencyKey }, signal) =>
      (await this.#parts()).reviewer.review(payload.id, idempotencyKey, signal),
    );
    context.jobs.define('tidy', () => this.#tidy());
  }

  beginTurn(turn: TurnInfo): void {
    this.#sources.began(turn);
  }

  getTools() {
    const ports = async () => ({ context: this.#context, sources: this.#sources, ...(await this.#parts()) });
    return [proposeTool(ports), reviewTool(async () => (await this.#parts()).reviewer)];
  }

  async getCommands(): Promise<readonly Command[]> {
    const { proposalCommands } = await import('./commands/commands.ts');
    return proposalCommands(this.#context, (await this.#parts()).decisions);
  }

  /** A reviewer that cannot answer leaves each proposal to people, who should know. */
  async findings(): Promise<readonly Diagnostic[]> {
    const { agents, config: settings } = this.#context;
    const { reviewer } = settings;
    if (reviewer === undefined) return [];
    const finding = (message: string, cure: string): Diagnostic => ({ severity: 'warning', code: 'reviewer_unusable', message, cure });
    const name = "'extensions.skill_proposals.reviewer'";
    try {
      const { usesTools } = await agents.find(reviewer);
      if (usesTools.includes(REVIEWING)) return [];
      return [finding(`${name}: the agent '${reviewer}' cannot answer, so nothing is reviewed`, `add ${REVIEWING} to its uses_tools`)];
    } catch (error) {
      return [finding(`${name}: ${messageOf(error)}`, 'name an agent that can run')];
    }
  }

  async #candidate(id: string): ReturnType<SkillProposals['candidate']> {
    const { proposals } = await this.#parts();
    const entry = await proposals.find(id).catch(() => null); // there is none, or several begin so
    if (entry === null || entry.proposal === null || !isWaiting(entry.state)) return null;
    const fit = await proposals.candidates.fit(entry.proposal).catch(() => null); // the skill is gone
    if (fit === null || 'conflicts' in fit) return null;
    return { skill: entry.proposal.skill, before: fit.present.directory, after: fit.after.directory };
  }

  /** Proposals that nobody decided expire, and what was made for decided ones goes. */
  async #tidy(): Promise<void> {
    const { proposals } = await this.#parts();
    const entries = await proposals.list();
    proposals.candidates.keepOnly(new Set(entries.filter(({ state }) => isWaiting(state)).map(({ id }) => id)));
    await this.#sources.prune();
  }
}
