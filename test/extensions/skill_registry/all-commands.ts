import type { AgentSpec, Command, ExtensionContext } from 'pith';
import { initializedCommands } from '../../../sandbox/extensions/skill_registry/commands/initialized.ts';
import { registryOptions } from '../../../sandbox/extensions/skill_registry/commands/open-registry.ts';
import type { SkillsConfig } from '../../../sandbox/extensions/skill_registry/config.ts';
import { SkillRegistry } from '../../../sandbox/extensions/skill_registry/registry.ts';
import { learnedOf, NOTHING_LEARNED } from '../../../sandbox/extensions/skill_registry/search/learned-examples.ts';
import { SkillIndex } from '../../../sandbox/extensions/skill_registry/search/skill-index.ts';
import { SkillSearch } from '../../../sandbox/extensions/skill_registry/search/skill-search.ts';
import { commandContext, type SkillSandbox } from './skill-sandbox.ts';

/** What runs a command of the extension as it has them in a kernel, over a sandbox. */
export async function withCommands<T>(
  box: SkillSandbox,
  { config, agents }: { readonly config?: Readonly<Record<string, unknown>>; readonly agents?: readonly AgentSpec[] },
  run: (commands: readonly Command[]) => Promise<T>,
): Promise<T> {
  const context = commandContext(box, config, agents) as ExtensionContext<SkillsConfig>;
  const registry = new SkillRegistry(registryOptions(context));
  const search = new SkillSearch(new SkillIndex({ ...context, registry, learned: learnedOf(context) ?? NOTHING_LEARNED, file: null }));
  try {
    return await run(initializedCommands(context, registry, search, null as never));
  } finally {
    await search.close();
    await registry.close();
  }
}
