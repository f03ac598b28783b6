import { architecturePage } from './architecture-page.ts';
import { commandsPage } from './commands-page.ts';
import { configurationPage } from './configuration-page.ts';
import { glossaryPage } from './glossary-page.ts';
import { sampleSettings } from './sample-settings.ts';
import { toolsPage } from './tools-page.ts';

/** The pages and the drawing that are made from the code, by path. */
export async function generatedPages(root: string): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['docs/configuration.md', await configurationPage(root)],
    ['docs/commands.md', await commandsPage(root)],
    ['docs/glossary.md', await glossaryPage(root)],
    ['docs/tools.md', await toolsPage(root)],
    ...architecturePage(root),
    ['sandbox/pith.sample.yaml', sampleSettings()],
  ]);
}
