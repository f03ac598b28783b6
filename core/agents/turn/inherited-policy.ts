import type { AgentSpec, TurnPolicy } from '../../contract/index.ts';
import { TOOLSET_PREFIX } from '../../contract/protocols/tool-provider.ts';
import { narrowed, permits } from '../tools/gate.ts';
import { withStarters, type OriginalRequest } from './foreign-turn.ts';
import type { RunningTurn } from './turn-types.ts';

/**
 * What a turn may not do because another one calls it. What the caller was denied stays denied, whoever is called, and so does what a stranger
 * that began it may not have. Beyond that a declared agent
 * runs with its own tools; one made at run time (without an origin) has no tool that its caller lacks, and no higher limit. Who calls it may let it
 * have the toolsets of the skills that it carries, as far as its own policy lets it have them.
 */
export function inheritedPolicy(
  request: Pick<OriginalRequest, 'policy' | 'parent' | 'origin' | 'agent'>,
  { origin, usesSkills }: AgentSpec,
  parent: RunningTurn | null,
): TurnPolicy {
  const policy = withStarters(request, parent);
  const { parent: calling } = request;
  if (calling === undefined) return policy;
  const denied = [...new Set([...(policy.denyTools ?? []), ...((parent?.plan.policy ?? calling.policy)?.denyTools ?? [])])];
  const own: TurnPolicy = denied.length === 0 ? policy : { ...policy, denyTools: denied };
  if (origin !== null) return own;
  const { tools, agent } = parent?.offer.info ?? calling;
  const callerPolicy = parent?.plan.policy ?? calling.policy ?? {};
  const carried = (policy.allowTools ?? []).filter((entry) => {
    const [toolset = '', tool = ''] = entry.split('/', 2);
    return usesSkills.some((id) => toolset === TOOLSET_PREFIX + id) && permits(callerPolicy, toolset, tool);
  });
  const allowTools = tools.filter((tool) => permits(policy, tool.split('/', 1)[0] as string, tool.slice(tool.indexOf('/') + 1)));
  return { ...own, allowTools: [...allowTools, ...carried], limits: narrowed(parent?.plan.limits ?? agent.limits, policy.limits) };
}
