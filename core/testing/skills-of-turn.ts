import { didYouMean } from '@pith/plain-text';
import { defineTopic, SkillProvider, type TurnEvent } from '../contract/index.ts';
import type { Kernel } from '../compose/index.ts';

/** A skill whose text came to a turn. */
export interface LoadedSkill {
  readonly id: string;
  /** By which tool or mode: `read_skill`, `skill`, `trigger`, `uses_skills`, `run_skill`. */
  readonly how: string;
  /** The agent that has it: the turn's own, or one that it called. */
  readonly agent: string;
  /** The thread held its text already, and was only pointed to it. */
  readonly again: boolean;
}

export interface TurnSkills {
  readonly loaded: readonly LoadedSkill[];
  /** Ids of those that the model was shown; where these were all that its agent may read, of all in the sandbox. */
  readonly offered: readonly string[];
}

/** What a turn came to, as far as it says why a skill was not loaded. */
interface Outcome {
  readonly skills: TurnSkills;
  readonly results: readonly Extract<TurnEvent, { type: 'tool-result' }>[];
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

interface OfTurn {
  readonly turnId: string | null;
  readonly correlationId: string | null;
}

type Used = OfTurn & { readonly skillId: string; readonly agentId: string; readonly state: string } & {
  readonly how?: string;
  readonly again?: boolean;
};
type Offered = OfTurn & { readonly offered: readonly string[] | 'all'; readonly shown: readonly string[] };

/** Every way of loading skills publishes these, so that a test needs to know none of them. */
const USED = defineTopic<Used>('skill.used');
const OFFERED = defineTopic<Offered>('skills.offered');

/** Keeps what is published of skills until `stop`. */
export function keepSkills({ events, host }: Kernel): { of(turnId: string | undefined): Promise<TurnSkills>; stop(): void } {
  const used: Used[] = [];
  const offers: Offered[] = [];
  const causes = new Map<string, string>();
  const offs = [
    events.handle('turn.started', ({ turnId, correlationId }) => void causes.set(turnId, correlationId)),
    events.handle(USED, (use) => void used.push(use)),
    events.handle(OFFERED, (offer) => void offers.push(offer)),
  ];
  const all = async (): Promise<readonly string[]> => {
    const skills = (await (await host.providers.active(SkillProvider))[0]?.listSkills()) ?? [];
    return skills.flatMap(({ id, state }) => (state === 'offered' ? [id] : []));
  };
  return {
    async of(turnId) {
      const cause = turnId === undefined ? undefined : causes.get(turnId);
      const isHere = (each: OfTurn) => each.turnId === turnId || (cause !== undefined && each.correlationId === cause);
      const { offered = [], shown = [] } = offers.find((each) => each.turnId === turnId) ?? {};
      return {
        loaded: used
          .filter((use) => use.state === 'loaded' && isHere(use))
          .map(({ skillId: id, how = '', agentId: agent, again = false }) => ({ id, how, agent, again })),
        offered: offered === 'all' ? await all() : [...offered, ...shown],
      };
    },
    stop: () => offs.forEach((off) => off()),
  };
}

/** Throws when no agent of the turn loaded this skill, or none as `wanted` says. The message has what was loaded and offered instead. */
export function expectSkillLoaded(
  { skills: { loaded, offered }, results, error }: Outcome,
  id: string,
  wanted: Partial<Omit<LoadedSkill, 'id'>> = {},
): void {
  const conditions = Object.entries({ id, ...wanted }) as [keyof LoadedSkill, unknown][];
  if (loaded.some((skill) => conditions.every(([key, value]) => value === undefined || skill[key] === value))) return;
  const condition = conditions.slice(1).map(([key, value]) => `${key}: ${String(value)}`);
  const failed = results.flatMap((result) => (result.ok ? [] : [`${result.name}: ${result.error?.message ?? 'no reason'}`]));
  throw new Error(
    [
      `the turn did not load the skill '${id}'${condition.length > 0 ? ` (${condition.join(', ')})` : ''}`,
      `  loaded: ${listOf(loaded.map(textOf))}`,
      `  offered: ${listOf(offered)}${offered.includes(id) ? '' : didYouMean(id, offered)}`,
      ...failed.map((each) => `  failed call: ${each}`),
      ...(error === undefined ? [] : [`  the turn failed: ${error.code}: ${error.message}`]),
    ].join('\n'),
  );
}

function textOf({ id, how, agent, again }: LoadedSkill): string {
  return `${id} (how: ${how}, agent: ${agent}, again: ${again})`;
}

function listOf(names: readonly string[]): string {
  const shown = names.slice(0, 20).join(', ');
  return names.length === 0 ? 'none' : names.length > 20 ? `${shown} and ${names.length - 20} more` : shown;
}
