import type { AgentSpec, TurnPolicy } from '../../contract/index.ts';
import type { ExtensionsPort } from '../ports.ts';
import type { BoundSkill, BoundSkills } from '../prompt/bound-skills.ts';
import { resolveTools, type ResolvedTools } from '../tools/tools.ts';

export interface ResolvedAgent {
  readonly tools: ResolvedTools;
  readonly skills: readonly BoundSkill[];
}

/** What narrows the tools of a turn, and the agents that it may call. */
export interface ResolveOptions {
  readonly policy?: TurnPolicy;
  readonly callees?: readonly AgentSpec[];
}

/** What the names in an agent mean at this moment. An agent is admitted by what this finds, and each of its turns is planned from it. */
export async function resolveAgent(
  spec: AgentSpec,
  { extensions, skills }: { readonly extensions: ExtensionsPort; readonly skills: BoundSkills },
  { policy, callees }: ResolveOptions = {},
  signal?: AbortSignal,
): Promise<ResolvedAgent> {
  const [tools, bodies] = await Promise.all([resolveTools(spec, extensions, policy, callees), skills.read(spec.usesSkills, signal)]);
  return { tools, skills: bodies };
}
