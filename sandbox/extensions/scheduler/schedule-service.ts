import { type Clock, type ExtensionContext, PithError, type ToolCall, type TurnInfo, type TurnPolicy } from 'pith';
import { didYouMean } from '@pith/plain-text';
import { sha256 } from '@pith/plain-data';
import type { ScheduleStore } from './schedule-store.ts';
import type { Schedule } from './schedule.ts';

/** The most schedules of one person. */
export const MOST_SCHEDULES = 50;

export interface ScheduleRequest {
  readonly agentId: string | undefined;
  readonly message: string;
  /** Its time if it runs once. */
  readonly at: number | null;
  readonly cron: string | null;
  readonly timeZone: string | null;
}

export interface ScheduleServicePorts {
  readonly store: ScheduleStore;
  readonly agents: Pick<ExtensionContext['agents'], 'list'>;
  readonly clock: Clock;
}

/** Creates and cancels schedules. Expected refusals are `PithError`s. */
export class ScheduleService {
  constructor(private readonly ports: ScheduleServicePorts) {}

  /** A repeated call makes the same schedule. */
  async make({ agentId, ...request }: ScheduleRequest, { turn, idempotencyKey }: ToolCall): Promise<Schedule> {
    const { store, clock } = this.ports;
    const agent = agentId ?? turn.agent.id;
    await this.#checkAgent(agent, turn);
    const schedule: Schedule = {
      ...request,
      id: sha256(idempotencyKey).slice(0, 10),
      agentId: agent,
      open: [],
      last: null,
      createdAt: clock.now(),
      by: { agent: turn.agent.id, user: turn.userId, channel: turn.channelId, thread: turn.threadId },
      correlationId: turn.correlationId,
      policy: policyOf(agent, turn),
      nextAt: null,
    };
    const kept = await store.add(schedule, MOST_SCHEDULES);
    if (kept !== null) return kept;
    throw new PithError('limit_reached', `${MOST_SCHEDULES} schedules are the most for one person`, {
      cure: 'cancel some of list_schedules',
    });
  }

  list(user: string | null): Promise<readonly Schedule[]> {
    return this.ports.store.list(user);
  }

  /** `user`: null for a person at the terminal, who may cancel everybody's. */
  async cancel(id: string, user: string | null): Promise<Schedule> {
    const found = await this.ports.store.get(id);
    if (found !== null && (user === null || found.by.user === user)) {
      await this.ports.store.remove(found);
      return found;
    }
    const ids = (await this.list(user)).map((each) => each.id);
    throw new PithError('not_found', `there is no schedule '${id}'${didYouMean(id, ids)}`, {
      cure: ids.length === 0 ? 'there are none' : `use one of ${ids.join(', ')}`,
    });
  }

  async #checkAgent(id: string, { agent }: TurnInfo): Promise<void> {
    if (agent.origin === null) {
      throw new PithError('not_allowed', `'${agent.id}' was made at run time and may be gone by then`, {
        cure: 'let the agent that made it schedule the work',
      });
    }
    if (id === agent.id) return;
    const known = (await this.ports.agents.list()).map((each) => each.id);
    const callable = known.filter((name) => agent.delegatesTo.includes(name) || agent.delegatesTo.includes('*'));
    if (callable.includes(id)) return;
    throw new PithError('agent_unknown', `there is no agent '${id}' that '${agent.id}' may call${didYouMean(id, callable)}`, {
      cure: `leave agent_id out, or use one of ${callable.join(', ')}`,
    });
  }
}

/**
 * The turn's own agent gets no tool later that it lacks now. Another agent has its own tools, without those that this turn was denied or
 * its starter may not have.
 */
function policyOf(agentId: string, { agent, tools, policy = {} }: TurnInfo): TurnPolicy {
  if (agentId === agent.id) return { ...policy, allowTools: tools };
  const { denyTools, startedBy } = policy;
  return { ...(denyTools === undefined ? {} : { denyTools }), ...(startedBy === undefined ? {} : { startedBy }) };
}
