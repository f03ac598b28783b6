import { messageOf, Places, type Command, type CommandProvider, type ContextProvider, type ExtensionContext } from 'pith';
import { changedLines, laterFiles } from './changed-files.ts';
import { FolderInstructions } from './contract.ts';
import { JoinedInstructions } from './folder-instructions.ts';
import { findInstructions, notShown } from './instruction-files.ts';
import { initCommand } from './init-command.ts';
import { instructionsText, openingLine } from './instructions-text.ts';

/** Gives the model AGENTS.md, else CLAUDE.md, of a project that a person trusts, and says which of the used files are new or changed. */
export default class ProjectInstructions implements ContextProvider, CommandProvider {
  readonly contextPriority = 20;

  constructor(private readonly context: ExtensionContext) {
    context.provide(FolderInstructions, new JoinedInstructions(context.use(Places)));
  }

  async getContext(): Promise<string | null> {
    return instructionsText(await findInstructions(this.context.use(Places)));
  }

  async banner(): Promise<string | null> {
    const places = this.context.use(Places);
    const line = openingLine(await findInstructions(places), [...notShown(places), ...laterFiles(places)]);
    const lines = [...(line === null ? [] : [line]), ...(await this.#changed(places))];
    return lines.length === 0 ? null : lines.join('\n');
  }

  getCommands(): readonly Command[] {
    return [initCommand(this.context)];
  }

  async #changed(places: Places): Promise<readonly string[]> {
    try {
      return await changedLines(places, this.context.kv);
    } catch (error) {
      this.context.logger.warn('changes of project files not known', { reason: messageOf(error) });
      return [];
    }
  }
}
