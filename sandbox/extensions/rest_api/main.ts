import { oncePromised } from '@pith/promises';
import { type ChannelMessage, type ChannelProvider, type ExtensionContext, Places, type ServiceProvider, type TopicMap } from 'pith';
import { RouteProvider } from 'pith/http';
import type { ProposalChanged } from 'pith/skill_proposals';

/** What a page or a program does over HTTP below `/api`. */
export default class RestApi implements ServiceProvider, ChannelProvider {
  readonly kinds = ['web'];
  /** Aborts when this version is about to be replaced or stopped, while its open requests are still waited for. */
  readonly #ending = new AbortController();
  readonly #api = oncePromised(async () => {
    const { Api } = await import('./api.ts');
    return new Api(this.context, this.#ending.signal);
  });

  constructor(private readonly context: ExtensionContext) {
    context.provide(RouteProvider, {
      routes: async () => (await this.#api()).routes(),
      answer: async (request) => (await this.#api()).answer(request),
    });
  }

  /** To pages. */
  async deliver(message: ChannelMessage, target: string): Promise<string> {
    return (await this.#api()).deliver(message, target);
  }

  async settle(about: NonNullable<ChannelMessage['about']>): Promise<void> {
    await (await this.#api()).settle(about);
  }

  /** Handles `thread.removed`. */
  async threadRemoved(removed: TopicMap['thread.removed']): Promise<void> {
    await (await this.#api()).forget(removed);
  }

  /** Handles `proposal.changed`, also of a command in a terminal. */
  async proposalChanged({ proposalId }: ProposalChanged): Promise<void> {
    await (await this.#api()).proposalChanged(proposalId);
  }

  /** Keeps what changes for those who watch. */
  async runBackground(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#ending.abort(), { once: true });
    if (this.context.use(Places).serve !== null) await (await this.#api()).run(signal);
  }
}
