import { z, type ContextProvider, type ExtensionContext, type TurnInfo } from 'pith';

const config = z.strictObject({ text: z.string() });

export default class MyContext implements ContextProvider {
  static config = config;
  /** After the channel (0), before the skill catalog (60). */
  readonly contextPriority = 50;

  constructor(private readonly context: ExtensionContext<z.infer<typeof config>>) {}

  /** The same text for the same settings: what depends on the message would go into `{ turn: … }`. */
  async getContext(_prompt: string, _turn: TurnInfo): Promise<string | null> {
    return this.context.config.text.trim() || null;
  }
}
