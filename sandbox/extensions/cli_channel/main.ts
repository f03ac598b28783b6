import {
  type ChannelMessage,
  type ChannelProvider,
  type Command,
  type CommandProvider,
  type ContextProvider,
  type ExtensionContext,
  type TurnInfo,
  z,
} from 'pith';
import { chatCommand } from './chat-command.ts';
import { describeChannel } from './conversation.ts';
import { Terminals } from './terminal.ts';

/** The terminal as a channel: `pith chat`, what the model learns of it, and notices while it is open. */
export default class CliChannel implements ContextProvider, CommandProvider, ChannelProvider {
  static get config() {
    return z.strictObject({
      /** How a person is called to a question or an answer, while they look elsewhere. */
      notifications: z.enum(['osc9', 'osc777', 'bell', 'off']).default('osc9'),
    });
  }

  readonly contextPriority = 0;
  readonly kinds = ['terminal'];
  readonly #terminals = new Terminals();

  constructor(private readonly context: ExtensionContext) {}

  async getContext(_prompt: string, turn: TurnInfo): Promise<string | null> {
    this.#terminals.saw(turn);
    return describeChannel(turn);
  }

  getCommands(): readonly Command[] {
    return [chatCommand(this.context, this.#terminals)];
  }

  async deliver(message: ChannelMessage, target: string): Promise<string> {
    return this.#terminals.deliver(message, target);
  }
}
