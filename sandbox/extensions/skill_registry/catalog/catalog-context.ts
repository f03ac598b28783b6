import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { ContextParts, TurnInfo } from 'pith';
import type { Skill, Snapshot } from '../skill.ts';
import type { SkillSearch } from '../search/skill-search.ts';
import type { Offer, ScopeCache, SkillScope } from './scope.ts';
import { renderTurnPart, SHOWN_BESIDE, type TurnPart } from './turn-part.ts';

export interface CatalogPorts {
  readonly cache: ScopeCache;
  /** `<extension>/read_skill`: who cannot read is not offered anything. */
  readonly readTool: string;
  /** Called with the skills that the turn's model is offered. */
  offered(turn: TurnInfo, offer: Offer): void;
  /** Ids of the skills that the words of the turn's message call for, best first. */
  suggested(turn: TurnInfo): Promise<readonly string[]>;
  readonly search: Pick<SkillSearch, 'prepare' | 'rank'>;
}

/** With more skills than this, others may work between the steps. */
const MANY = 1000;
/** A turn waits so long for a search index that is being built: the catalog itself must not be late. */
const WAIT_MS = 250;
/** A preview shows what a conversation gets once everything is loaded. With half a second more, when an index is new, it is less than the kernel waits. */
const PREVIEW_MS = 400;

/** The catalog for one turn: the stable system part and, where not all skills fit or the message calls for some by its words, the part for it. */
export async function catalogParts(ports: CatalogPorts, snapshot: Snapshot, turn: TurnInfo): Promise<ContextParts | null> {
  const reads = turn.tools.includes(ports.readTool);
  const { scope, catalog } = ports.cache.view(snapshot, turn.agent, turn.model.contextWindow);
  const offer: Offer = { scope, listed: !reads ? [] : catalog.complete ? 'all' : catalog.lines };
  if (!reads || catalog.text === null) {
    ports.offered(turn, offer);
    return null;
  }
  const { readable, bound } = scope;
  const suggested = [...new Set(await ports.suggested(turn))].flatMap((id) => (bound.has(id) ? [] : (readable.get(id) ?? [])));
  if (scope.readable.size > MANY) await yieldToOthers(); // each of the two steps takes long enough by itself
  if (!catalog.complete) await ports.search.prepare(snapshot, turn.id === 'preview' ? PREVIEW_MS : WAIT_MS);
  const lines = new Set(catalog.lines.map(({ id }) => id));
  const part = catalog.complete
    ? renderTurnPart({ ranked: suggested, recent: [], searchReady: true, listed: true })
    : await messagePart(ports, snapshot, { scope, lines, suggested }, turn);
  ports.offered(turn, { ...offer, shown: part.shown });
  return part.text === null ? { system: catalog.text } : { system: catalog.text, turn: part.text };
}

interface Shown {
  readonly scope: SkillScope;
  /** Ids of what has its line in the system part. */
  readonly lines: ReadonlySet<string>;
  readonly suggested: readonly Skill[];
}

/** What is suggested, then what is ranked by the newest of the user's texts and, where that finds few, by those before it, up to one that nothing fits. */
async function messagePart(
  ports: CatalogPorts,
  snapshot: Snapshot,
  { scope: { readable, bound }, lines, suggested }: Shown,
  turn: TurnInfo,
): Promise<TurnPart> {
  const offered = (id: string) => readable.has(id) && !bound.has(id);
  const unlisted = (id: string) => offered(id) && !lines.has(id); // a skill with a line in the system part needs no second one
  const ranked = new Set(suggested);
  let searchReady = true;
  for (const text of turn.userTexts.filter((each) => each.trim() !== '').reverse()) {
    if (ranked.size >= SHOWN_BESIDE) break;
    if (readable.size > MANY) await yieldToOthers();
    const asked = { k: SHOWN_BESIDE, agentId: turn.agent.id, among: unlisted, weak: true, seed: turn.id, waitMs: 0 };
    const answer = await ports.search.rank(snapshot, text, asked);
    searchReady &&= answer.ready;
    if (answer.ranked.every(({ weak }) => weak === true)) break; // small talk: what was said before it is over
    for (const { id } of answer.ranked) ranked.add(readable.get(id)!);
  }
  // What is whole in the conversation, the latest first.
  const recent = [...new Set(turn.held.map(({ key }) => key).reverse())].flatMap((id) => (offered(id) ? readable.get(id)! : []));
  return renderTurnPart({ ranked: [...ranked], recent, searchReady });
}
