import { type Command, type CommandProvider, type ExtensionContext, type ServiceProvider, type Tool, type ToolProvider, z } from 'pith';
import { Builder } from './builder.ts';
import bareCommands from './commands.ts';
import { probeCommand, rollbackCommand, validateCommand } from './commands/extension-commands.ts';
import { extensionTools } from './tools/extension-tools.ts';
import { skillTools } from './tools/skill-tools.ts';

export default class ExtensionBuilder implements ToolProvider, ServiceProvider, CommandProvider {
  static readonly config = z.strictObject({});

  readonly #builder: Builder;

  constructor(private readonly context: ExtensionContext) {
    this.#builder = new Builder(context);
  }

  getTools(): readonly Tool[] {
    return [...extensionTools(this.#builder), ...skillTools(this.#builder)];
  }

  getCommands(): readonly Command[] {
    return [...bareCommands(this.context), validateCommand(this.#builder), probeCommand(this.#builder), rollbackCommand(this.#builder)];
  }

  /** Finishes what a former process began, then watches what is activated here. */
  runBackground(signal: AbortSignal): Promise<void> {
    return this.#builder.watchOver(signal);
  }
}
