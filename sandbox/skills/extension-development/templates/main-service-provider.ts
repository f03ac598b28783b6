import { z, type ExtensionContext, type ServiceProvider } from 'pith';

const config = z.strictObject({ every_seconds: z.number().min(1) });

export default class MyService implements ServiceProvider {
  static config = config;

  constructor(private readonly context: ExtensionContext<z.infer<typeof config>>) {}

  async runBackground(signal: AbortSignal): Promise<void> {
    const { clock, config: settings } = this.context;
    while (!signal.aborted) {
      await this.#look(signal);
      try {
        await clock.sleep(settings.every_seconds * 1000, signal);
      } catch (error) {
        if (!signal.aborted) throw error; // the end of the service ends the wait
      }
    }
  }

  /** One round. Keep it short, and pass the signal on. */
  async #look(_signal: AbortSignal): Promise<void> {
    this.context.logger.debug('looked');
  }
}
