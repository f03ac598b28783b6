import { type ExtensionContext, Places, type ServiceProvider } from 'pith';
import { configSchema, type Config } from './config.ts';
import { RouteProvider } from './contract.ts';

/** The one listener of `pith serve`. */
export default class Http implements ServiceProvider {
  static get config() {
    return configSchema();
  }

  constructor(private readonly context: ExtensionContext<Config>) {}

  async runBackground(signal: AbortSignal): Promise<void> {
    const { config, clock, logger, events, id: extensionId } = this.context;
    const { serve } = this.context.use(Places);
    if (serve === null) return; // in a chat nothing is served
    const { listen } = await import('./listener.ts');
    const listening = (port: number): void => {
      const host = config.host.includes(':') ? `[${config.host}]` : config.host;
      events.publish('service.ready', { extensionId, text: `Listening on http://${host}:${port}` });
    };
    const port = serve.port ?? config.port;
    await listen({ config, port, routes: () => this.context.find(RouteProvider), clock, logger, listening }, signal);
  }
}
