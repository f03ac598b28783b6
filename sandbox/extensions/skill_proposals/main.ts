import type { ExtensionContext, TurnInfo, TurnProvider } from 'pith';
import { ThreadSources } from 'pith/skill_registry';
import { webRead } from 'pith/web';
import { SkillProposals } from './contract.ts';
import { OutsideSources } from './outside-sources.ts';

/** Takes changes of skills that agents propose, and puts in place what a person agrees to. */
export default class SkillProposalsExtension implements TurnProvider {
  readonly #sources: OutsideSources;

  constructor(context: ExtensionContext) {
    this.#sources = new OutsideSources(context);
    context.own(context.events.handle('tool.called', (call) => this.#sources.called(call)));
    context.own(context.events.handle(webRead, (read) => this.#sources.read(read)));
    context.provide(SkillProposals, { candidate: async () => null });
    context.provide(ThreadSources, { sourcesOf: (threadId) => this.#sources.of(threadId) });
  }

  beginTurn(turn: TurnInfo): void {
    this.#sources.began(turn);
  }

  endTurn(turn: TurnInfo): void {
    this.#sources.ended(turn);
  }
}
