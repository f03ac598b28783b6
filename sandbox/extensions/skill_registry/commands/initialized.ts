import type { Command, ExtensionContext } from 'pith';
import { shownBy } from '../commands.ts';
import type { SkillsConfig } from '../config.ts';
import type { SkillDrafts, SkillWriter } from '../contract.ts';
import type { SkillRegistry } from '../registry.ts';
import type { SkillSearch } from '../search/skill-search.ts';
import { shownTo } from '../drafts/shown-to.ts';
import { accept, discard } from './drafts.ts';
import { explain } from './explain.ts';
import { rollback } from './rollback.ts';
import { trust, untrust } from './trust.ts';
import { validate } from './validate.ts';

/** All commands, also those that need a kernel. */
export function initializedCommands(
  context: ExtensionContext<SkillsConfig>,
  {
    registry,
    search,
    writer,
    drafts,
  }: { readonly registry: SkillRegistry; readonly search: SkillSearch; readonly writer: SkillWriter; readonly drafts: SkillDrafts },
): readonly Command[] {
  return [
    ...shownBy(context, async (by, run) => run(registry, shownTo(by, registry, await registry.listing()))),
    validate(context),
    trust(context, registry),
    untrust(context, registry),
    explain(context, registry, search),
    rollback(registry, writer),
    accept(drafts, registry),
    discard(drafts),
  ];
}
