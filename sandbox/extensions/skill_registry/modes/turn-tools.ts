import type { TurnInfo, TurnTool } from 'pith';
import type { ScopeCache } from '../catalog/scope-cache.ts';
import type { Offer } from '../ledger/offer.ts';
import type { Snapshot } from '../skill.ts';
import { singleTool, singleToolBudget, type SingleTool } from './single-tool.ts';

export interface ModePorts {
  /** The extension's own id, under which its tools stand in `turn.tools`. */
  readonly id: string;
  readonly cache: ScopeCache;
}

/** The tools by which an agent meets its skills, beside those of its `uses_tools` (S65). */
export function modeTools(ports: ModePorts, snapshot: Snapshot, turn: TurnInfo): readonly TurnTool[] {
  const { settings, catalog, readable } = ports.cache.scope(snapshot, turn.agent);
  const resource: readonly TurnTool[] = readable.size === 0 ? [] : [{ tool: 'read_skill_resource' }];
  const skill = (): TurnTool => ({ tool: 'skill', ...toldTo(ports.cache, snapshot, turn) });
  switch (settings.mode) {
    case 'single_tool':
      return catalog.length === 0 ? resource : [skill(), ...resource];
    case 'triggers':
      return readable.size === 0 ? [] : [{ tool: 'read_skill' }, ...resource];
    default:
      // Whoever names the tool is told of the skills by it, whatever the mode.
      return catalog.length > 0 && turn.tools.includes(`${ports.id}/skill`) ? [skill()] : [];
  }
}

/** What a turn's model is told of the skills where there is no catalog: all by the one tool, or none. */
export function toolOffer({ id, cache }: ModePorts, snapshot: Snapshot, turn: TurnInfo): Offer {
  const scope = cache.scope(snapshot, turn.agent);
  const told = turn.tools.includes(`${id}/skill`) ? 'all' : [];
  return { snapshot, scope, told, rest: `the agent does not hold ${id}/skill`, key: scope };
}

/** Made once per snapshot, agent and size of window. */
function toldTo(cache: ScopeCache, snapshot: Snapshot, { agent, model }: TurnInfo): SingleTool {
  const { settings, catalog } = cache.scope(snapshot, agent);
  const budget = settings.budget_tokens ?? singleToolBudget(model.contextWindow);
  return cache.made(snapshot, agent, `single_tool ${budget}`, () => singleTool(catalog, budget));
}
