/** No declared agent has a colon in its id. */
const PREFIX = 'skill:';

/** The agent that `run_skill` makes of a skill. */
export function workerIdOf(skillId: string): string {
  return PREFIX + skillId;
}

/** A condition of SQL: whether the agent of a row is such a worker. */
export const IS_WORKER = `substr(agent, 1, ${PREFIX.length}) = '${PREFIX}'`;
