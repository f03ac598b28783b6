import { type AgentSpec, type Clock, type ExtensionContext, type JsonValue, type TurnInfo, z } from 'pith';

/** An agent made at run time, and whose it is. */
export interface MadeAgent {
  readonly spec: AgentSpec;
  readonly by: { readonly agent: string; readonly user: string; readonly thread: string };
  /** null: kept until it is forgotten. */
  readonly expiresAt: number | null;
}

export const LIFE_MS = 30 * 60_000;
/** A question to a person expires after a day. */
const LONGEST_WAIT_MS = 25 * 3_600_000;
/** Of one agent for one person, the kept ones included. */
export const MOST_MADE = 20;

const PREFIX = 'agent/';

const stored = z.looseObject({
  spec: z.looseObject({ id: z.string() }),
  by: z.object({ agent: z.string(), user: z.string(), thread: z.string() }),
  expiresAt: z.number().nullable(),
});

/** Agents made at run time. They are on disk, so that a turn which is continued after a crash still finds them. */
export class MadeAgents {
  #adding: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: ExtensionContext['kv'],
    private readonly clock: Clock,
  ) {}

  /** Those that this turn's agent made and may call: in this thread and in what it called from it, and the kept ones everywhere. Sorted by id. */
  async of(turn: TurnInfo): Promise<readonly MadeAgent[]> {
    return (await this.#all(turn)).filter(({ by, expiresAt }) => expiresAt === null || isWithin(turn.threadId, by.thread));
  }

  /** Those that this turn's agent made for this person in any thread. */
  async #all({ agent, userId }: TurnInfo): Promise<readonly MadeAgent[]> {
    return (await this.#alive()).filter(({ by }) => by.agent === agent.id && by.user === userId);
  }

  /** Whoever waits for a person must be there when the answer comes. */
  async extend(agent: MadeAgent): Promise<void> {
    if (agent.expiresAt !== null) await this.#put({ ...agent, expiresAt: this.clock.now() + LONGEST_WAIT_MS });
  }

  /** False when this turn's agent has made the most already. One at a time: calls of one step run side by side. */
  add(agent: MadeAgent, turn: TurnInfo): Promise<boolean> {
    const added = this.#adding.then(async () => {
      const others = (await this.#all(turn)).filter(({ spec }) => spec.id !== agent.spec.id);
      if (others.length >= MOST_MADE) return false;
      await this.#put(agent);
      return true;
    });
    this.#adding = added.catch(() => undefined); // its caller hears of it
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
