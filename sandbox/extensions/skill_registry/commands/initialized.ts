import type { Command, ExtensionContext } from 'pith';
import commands from '../commands.ts';
import type { SkillsConfig } from '../config.ts';
import type { SkillRegistry } from '../registry.ts';
import type { SkillSearch } from '../search/skill-search.ts';
import type { Toolsets } from '../toolsets/toolsets.ts';
import { allow } from './allow.ts';
import { evaluate } from './eval.ts';
import { explain } from './explain.ts';
import { search } from './search.ts';
import { stats } from './stats.ts';

/** All commands, also those that need a kernel. */
export function initializedCommands(
  context: ExtensionContext<SkillsConfig>,
  registry: SkillRegistry,
  found: SkillSearch,
  toolsets: Toolsets,
): readonly Command[] {
  return [
    ...commands(context),
    search(registry, found),
    explain(context, registry, found),
    stats(context),
    allow(toolsets),
    evaluate(context, registry, found),
  ];
}
