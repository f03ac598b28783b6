import { oncePromised } from '@pith/promises';
import { type ExtensionContext, Places, type ServiceProvider } from 'pith';
import { RouteProvider } from 'pith/http';

/** What a page or a program does over HTTP below `/api`. */
export default class RestApi implements ServiceProvider {
  readonly #api = oncePromised(async () => {
    const { Api } = await import('./api.ts');
    return new Api(this.context);
  });

  constructor(private readonly context: ExtensionContext) {
    context.provide(RouteProvider, {
      routes: async () => (await this.#api()).routes(),
      answer: async (request) => (await this.#api()).answer(request),
    });
  }

  /** Keeps what changes for those who watch. */
  async runBackground(signal: AbortSignal): Promise<void> {
    if (this.context.use(Places).serve !== null) await (await this.#api()).run(signal);
  }
}
