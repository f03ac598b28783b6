import type { Clock, TurnInfo } from 'pith';
import { within } from '@pith/promises';
import type { SkillSearch } from '../search/skill-search.ts';
import type { Snapshot } from '../skill.ts';
import type { ScopeCache } from './scope-cache.ts';

/** The id of a turn that is shown and not sent. */
const PREVIEW = 'preview';
/** Less than the kernel waits for a turn's tools, and again for its context. */
const PATIENCE_MS = 800;

/** Nobody is in a hurry for a preview: it shows what a conversation gets once bodies are read and all that the settings name is loaded. */
export async function readyForPreview(
  { cache, search, clock }: { readonly cache: ScopeCache; readonly search: SkillSearch; readonly clock: Clock },
  snapshot: Snapshot,
  turn: TurnInfo,
): Promise<void> {
  if (turn.id !== PREVIEW) return;
  const { scope, catalog } = cache.view(snapshot, turn.agent, turn.model.contextWindow);
  const text = turn.userTexts.at(-1)?.trim() ?? '';
  if (text === '' || catalog.complete || scope.settings.mode !== 'catalog') return;
  await within(clock, PATIENCE_MS, search.patiently(snapshot, text, new AbortController().signal));
}
