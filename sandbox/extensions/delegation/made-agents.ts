import { type AgentSpec, type Clock, type ExtensionContext, type JsonValue, type TurnInfo, z } from 'pith';

/** An agent made at run time, with its creator. */
export interface MadeAgent {
  readonly spec: AgentSpec;
  readonly by: { readonly agent: string; readonly user: string; readonly thread: string };
  /** null: kept until it is deleted. */
  readonly expiresAt: number | null;
}

export const LIFE_MS = 30 * 60_000;
/** A day, like a question to a person. */
const LONGEST_WAIT_MS = 25 * 3_600_000;
/** The most agents of one agent for one person, kept ones included. */
export const MOST_MADE = 20;

const PREFIX = 'agent/';

const stored = z.looseObject({
  spec: z.looseObject({ id: z.string() }),
  by: z.object({ agent: z.string(), user: z.string(), thread: z.string() }),
  expiresAt: z.number().nullable(),
});

/** Agents made at run time. They are on disk, so that a turn that continues after a crash still finds them. */
export class MadeAgents {
  #adding: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: ExtensionContext['kv'],
    private readonly clock: Clock,
  ) {}

  /** Agents that this turn's agent made and may call: of this thread and those called from it; kept ones everywhere. Sorted by id. */
  async of(turn: TurnInfo): Promise<readonly MadeAgent[]> {
    return (await this.#all(turn)).filter(({ by, expiresAt }) => expiresAt === null || isWithin(turn.threadId, by.thread));
  }

  /** The agents that this turn's agent made for this person in any thread. */
  async #all({ agent, userId }: TurnInfo): Promise<readonly MadeAgent[]> {
    return (await this.#alive()).filter(({ by }) => by.agent === agent.id && by.user === userId);
  }

  /** Extends the life of an agent whose turn waits for a person, so that it exists when the answer comes. */
  async extend(agent: MadeAgent): Promise<void> {
    if (agent.expiresAt !== null) await this.#put({ ...agent, expiresAt: this.clock.now() + LONGEST_WAIT_MS });
  }

  /** False when this turn's agent has made the most already. One at a time, since the calls of one step run in parallel. */
  add(agent: MadeAgent, turn: TurnInfo): Promise<boolean> {
    const added = this.#adding.then(async () => {
      const others = (await this.#all(turn)).filter(({ spec }) => spec.id !== agent.spec.id);
      if (others.length >= MOST_MADE) return false;
      await this.#put(agent);
      return true;
    });
    this.#adding = added.catch(() => undefined); // the caller gets the rejection
    return added;
  }

  async #put(agent: MadeAgent): Promise<void> {
    await this.store.set(PREFIX + agent.spec.id, structuredClone(agent) as unknown as JsonValue);
  }

  async forget(id: string): Promise<void> {
    await this.store.delete(PREFIX + id);
  }

  async #alive(): Promise<readonly MadeAgent[]> {
    const alive: MadeAgent[] = [];
    for (const key of await this.store.keys(PREFIX)) {
      const read = stored.safeParse(await this.store.get(key));
      const agent = read.success ? (read.data as unknown as MadeAgent) : null;
      if (agent === null || (agent.expiresAt !== null && agent.expiresAt <= this.clock.now())) await this.store.delete(key);
      else alive.push(agent);
    }
    return alive;
  }
}

function isWithin(thread: string, root: string): boolean {
  return thread === root || thread.startsWith(`${root}/`);
}
