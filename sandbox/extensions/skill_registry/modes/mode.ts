import { type AgentSpec, type ExtensionContext, messageOf, type Protocol, type Remote, type TurnInfo } from 'pith';
import { within } from '@pith/promises';
import { agentSkills } from '../catalog/scope.ts';
import { SkillMode, SkillSuggester } from '../contract.ts';

/** Those that the registry serves. */
export const OWN_MODES: ReadonlySet<string> = new Set(['catalog', 'single_tool', 'none']);

type Asking = Pick<ExtensionContext, 'find' | 'logger' | 'clock'>;

/** A turn waits no longer for what another extension has to say: the catalog itself must not be late. */
const TIMEOUT_MS = 250;

/** How an agent meets its skills: `catalog`, `single_tool`, `none`, or the word of another extension that serves it. A mode that nothing serves now is a catalog. */
export async function modeOf(context: Asking, agent: AgentSpec): Promise<string> {
  const others = await answers(context, SkillMode, (other) => other.modeOf(agent));
  const { mode } = agentSkills(agent);
  return others.find((name) => typeof name === 'string') ?? (mode === 'triggers' ? 'catalog' : mode);
}

/** Ids of the skills that other extensions suggest for a turn's message, best first. */
export async function suggestionsFor(context: Asking, turn: TurnInfo): Promise<readonly string[]> {
  const each = await answers(context, SkillSuggester, (other) => other.suggestionsFor(turn));
  return each.flatMap((ids: unknown) => (Array.isArray(ids) ? ids.filter((id) => typeof id === 'string').slice(0, MOST_SUGGESTED) : []));
}

/** Of one extension. */
const MOST_SUGGESTED = 20;

/** What every provider answers; of one that fails or is late nothing. */
async function answers<P extends object, T>(
  { find, logger, clock }: Asking,
  protocol: Protocol<P>,
  ask: (provider: Remote<P>) => Promise<T>,
): Promise<readonly T[]> {
  const each = find(protocol).map(async (provider): Promise<T | null> => {
    const { extensionId } = provider;
    try {
      return await within(clock, TIMEOUT_MS, ask(provider), () => null);
    } catch (error) {
      logger.warn(`'${extensionId}' failed, and '${protocol.id}' goes on without it`, { error: messageOf(error) });
      return null;
    }
  });
  return (await Promise.all(each)).filter((answer) => answer !== null);
}
