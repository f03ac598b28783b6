import { type AgentSpec, PithError, type TurnPolicy } from '../../contract/index.ts';
import { isDynamic, shortId } from '../../declarations/index.ts';
import type { OriginalRequest, TurnOrigin } from '../../kernel/index.ts';
import { narrowed, permits } from '../tools/gate.ts';
import type { Threads, TurnRecord } from '../threads/thread.ts';
import type { RunningTurn, TurnDependencies } from './running-turn.ts';

/**
 * The request's policy with all strangers that the turn comes from: whoever asks for it, and those of the turn that calls it. What a
 * stranger says of this itself is dropped.
 */
function withStarters(
  { policy = {}, parent, origin, agent }: Pick<OriginalRequest, 'policy' | 'parent' | 'origin' | 'agent'>,
  calling: RunningTurn | null,
): TurnPolicy {
  const { startedBy: said = [], savedSkill, ...others } = policy;
  const rest = origin === undefined && savedSkill !== undefined ? { ...others, savedSkill } : others;
  const above = (calling?.plan.policy ?? parent?.policy)?.startedBy ?? [];
  const own = origin === undefined ? said : [starterOf(origin, agent)];
  return comingFrom(rest, [...above, ...own]);
}

/**
 * What a turn may not do because another one calls it. What the caller was denied stays denied, whoever is called, and so does what a stranger
 * that began it may not have. Beyond that a declared agent runs with its own tools; one made at run time (without an origin) has no tool that its caller lacks, and no higher limit. Who calls it may let it
 * have what the skills that it carries bring, as far as its own policy lets it have them.
 */
export function inheritedPolicy(
  request: Pick<OriginalRequest, 'policy' | 'parent' | 'origin' | 'agent'>,
  spec: AgentSpec,
  parent: RunningTurn | null,
): TurnPolicy {
  const { origin, usesSkills } = spec;
  const { startedBy = [], ...rest } = withStarters(request, parent);
  const { parent: calling } = request;
  const isReadOnly = (parent?.plan.policy ?? calling?.policy)?.readOnly === true;
  const kept: TurnPolicy = isReadOnly ? { ...rest, readOnly: true } : rest;
  const policy = comingFrom(kept, [...startedBy, ...(spec.declaredBy ? [spec.declaredBy] : [])]);
  if (calling === undefined) return policy;
  const denied = [...new Set([...(policy.denyTools ?? []), ...((parent?.plan.policy ?? calling.policy)?.denyTools ?? [])])];
  const own: TurnPolicy = denied.length === 0 ? policy : { ...policy, denyTools: denied };
  if (origin !== null) return own;
  const { tools, agent } = parent?.offer.info ?? calling;
  const callerPolicy = parent?.plan.policy ?? calling.policy ?? {};
  const carried = (policy.allowTools ?? []).filter((entry) => {
    const [extension = '', tool = ''] = entry.split('/', 2);
    return isDynamic(extension) && usesSkills.includes(shortId(extension)) && permits(callerPolicy, extension, tool);
  });
  const allowTools = tools.filter((tool) => permits(policy, tool.split('/', 1)[0] as string, tool.slice(tool.indexOf('/') + 1)));
  return { ...own, allowTools: [...allowTools, ...carried], limits: narrowed(parent?.plan.limits ?? agent.limits, policy.limits) };
}

/**
 * A model that a stranger offers, and that no person named, drives the stranger's own tools: an agent that was made at run time, or that a
 * stranger declares, may name it for no more.
 */
export function withOwnModel(
  { models, host: { extensions } }: Pick<TurnDependencies, 'models' | 'host'>,
  { id, model, origin, declaredBy }: AgentSpec,
  policy: TurnPolicy,
  parent: RunningTurn | null,
): TurnPolicy {
  if (policy.model !== undefined) return policy; // a channel says what a person chose; what a stranger names was refused
  const provider = models.providerOf(model);
  if (provider === null || !extensions.isForeign(provider)) return policy;
  const declaredByPerson = origin !== null && declaredBy === undefined && !extensions.isForeign(id);
  const fromCaller = origin === null && parent?.record.agent.model === model; // the same rule applies to its own call
  return declaredByPerson || fromCaller
    ? policy
    : comingFrom(policy, [...(policy.startedBy ?? []), { extensionId: provider, ownOnly: true }]);
}

/** What holds for every turn of an agent: one that a stranger brings comes from there, whoever begins it. */
export function ofDeclarer({ declaredBy }: AgentSpec): TurnPolicy {
  return declaredBy === undefined ? {} : { startedBy: [declaredBy] };
}

/** As `refuseNamedModel`, of an agent that a stranger brings. */
export function refuseDeclaredModel(spec: AgentSpec, models: Pick<TurnDependencies['models'], 'isAlias'>): void {
  const { declaredBy } = spec;
  if (declaredBy) refuseNamedModel({ agent: spec, origin: { extensionId: declaredBy.extensionId, agents: [] } }, models);
}

/** Throws `not_allowed` where a stranger names a model, by itself or in an agent that it brings: it gets those that a person has chosen. */
export function refuseNamedModel(
  { origin, policy, agent }: Pick<OriginalRequest, 'origin' | 'policy' | 'agent'>,
  models: Pick<TurnDependencies['models'], 'isAlias'>,
): void {
  if (origin === undefined) return;
  const named = [policy?.model, typeof agent === 'string' ? undefined : agent.model].find(
    (each) => each !== undefined && !models.isAlias(each),
  );
  if (named === undefined) return;
  throw new PithError('not_allowed', `the extension '${origin.extensionId}' names the model '${named}' for a turn that it begins`, {
    cure: "leave the model out, or name an alias such as 'default' or 'fast': which model that is, a person decides in the settings",
  });
}

/** Throws `not_allowed` where a stranger goes on with a turn that it did not begin: it would have what that one has. */
export function refuseOthersTurn({ origin }: OriginalRequest, { threadId, policy }: TurnRecord): void {
  if (origin === undefined || policy.startedBy?.some(({ extensionId }) => extensionId === origin.extensionId)) return;
  throw new PithError('not_allowed', `the turn of thread '${threadId}' was not begun by the extension '${origin.extensionId}'`, {
    cure: 'use a separate thread',
  });
}

/** Rejects `not_allowed` where a stranger would read on in a thread that somebody else began below the turn that it serves. */
export async function refuseOthersThread(request: OriginalRequest, threads: Pick<Threads, 'last'>): Promise<void> {
  const { origin, threadId } = request;
  if (origin === undefined || threadId.startsWith(`${origin.extensionId}:`)) return;
  const last = await threads.last(threadId);
  if (last) refuseOthersTurn(request, last);
}

/** Whether a person may have written the message: a stranger's own words reach nobody as theirs. */
export function isPersons({ origin, agent }: OriginalRequest): boolean {
  return origin === undefined || !starterOf(origin, agent).ownOnly;
}

/** Ids of the strangers that a turn comes from, for people. */
export function startersOf({ startedBy = [] }: TurnPolicy): readonly string[] {
  return [...new Set(startedBy.map(({ extensionId }) => extensionId))];
}

function starterOf({ extensionId, agents }: TurnOrigin, agent: string | AgentSpec): NonNullable<TurnPolicy['startedBy']>[number] {
  return { extensionId, ownOnly: typeof agent !== 'string' || !agents.includes(agent) };
}

function comingFrom(policy: TurnPolicy, starters: readonly NonNullable<TurnPolicy['startedBy']>[number][]): TurnPolicy {
  const distinct = new Map(starters.map((each) => [`${each.extensionId} ${each.ownOnly}`, each]));
  return distinct.size === 0 ? policy : { ...policy, startedBy: [...distinct.values()] };
}
