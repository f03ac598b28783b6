import type { ExtensionContext } from 'pith';
import type { Config } from '../config.ts';

/** The lane of a skill that names none. */
export const DEFAULT_LANE = 'skill-default';

/** Whether the settings have a lane of that name. */
export function hasLane({ lanes }: Config, name: string): boolean {
  return Object.hasOwn(lanes, name);
}

/** Where the settings have no lane of that name, the rules of the default one. */
export function rulesOf({ lanes, most_queued: mostQueued }: Config, name: string): LaneRules {
  const known = new Map(Object.entries(lanes));
  const { slots, preemption_min_runtime_seconds: seconds } = known.get(name) ?? known.get(DEFAULT_LANE) ?? DEFAULT_SETTINGS;
  return { slots, preemptionMs: seconds * 1000, mostQueued };
}

/** Where the settings have lanes and leave the default one out. */
const DEFAULT_SETTINGS = { slots: 4, preemption_min_runtime_seconds: 30 };

/** Slots of a lane, and how old a run must be before it gives its slot away. */
export interface LaneRules {
  readonly slots: number;
  readonly preemptionMs: number;
  /** More do not wait. Absent: any number. */
  readonly mostQueued?: number;
}

type Define = Parameters<ExtensionContext['jobs']['define']>;
export type LanePolicy = NonNullable<NonNullable<Define[2]>['lanes']>;
export type Lane = Omit<Parameters<LanePolicy['pick']>[0], 'rules'> & { readonly rules: LaneRules };
type Picked = ReturnType<LanePolicy['pick']>;

/**
 * A promised slot goes to whom it was promised; every other to the user who was served least recently, then by priority, then by age of the
 * run. Where a run arrives in a full lane, one that is less urgent and old enough is asked to end, and the newcomer is promised its slot.
 */
export function pick(lane: Lane): Picked {
  const { arrived, promised } = lane;
  if (arrived === null) return { start: started(lane), preempt: [], promised };
  const victim = victimOf(lane, arrived.priority);
  if (victim === null) return { start: [], preempt: [], promised };
  return { start: [], preempt: [victim], promised: new Map([...promised, [arrived.id, victim]]) };
}

function started({ heads, running, served, promised, rules }: Lane): readonly string[] {
  const holders = new Set(running.map(({ id }) => id));
  const turns = new Map(served);
  const left = [...heads];
  const start: string[] = [];
  for (let turn = Math.max(0, ...served.values()) + 1; start.length < rules.slots - running.length; turn += 1) {
    const isDue = ({ id }: { readonly id: string }) => promised.has(id) && !holders.has(promised.get(id) as string);
    const turnOf = (owner: string | null) => turns.get(owner) ?? 0;
    const next = left.find(isDue) ?? left.toSorted((one, other) => turnOf(one.owner) - turnOf(other.owner))[0];
    if (next === undefined) break;
    start.push(next.id);
    turns.set(next.owner, turn);
    left.splice(left.indexOf(next), 1);
  }
  return start;
}

function victimOf({ running, rules, now }: Lane, priority: number): string | null {
  if (running.length < rules.slots) return null;
  const able = running.filter(
    (run) => run.preemptible && !run.preempted && run.priority < priority && now - run.begun >= rules.preemptionMs,
  );
  return able.toSorted((a, b) => a.priority - b.priority || b.begun - a.begun)[0]?.id ?? null;
}
