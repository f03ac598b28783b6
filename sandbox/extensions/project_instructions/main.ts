import { Places, type ContextProvider, type ExtensionContext } from 'pith';
import { findInstructions, notShown } from './instruction-files.ts';
import { instructionsText, openingLine } from './instructions-text.ts';

/** AGENTS.md, else CLAUDE.md, of a project that a person trusts. */
export default class ProjectInstructions implements ContextProvider {
  readonly contextPriority = 20;

  constructor(private readonly context: ExtensionContext) {}

  async getContext(): Promise<string | null> {
    return instructionsText(await findInstructions(this.context.use(Places)));
  }

  async opening(): Promise<string | null> {
    const places = this.context.use(Places);
    return openingLine(await findInstructions(places), notShown(places));
  }
}
