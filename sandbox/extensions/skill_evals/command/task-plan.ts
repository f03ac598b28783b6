import type { ExtensionContext } from 'pith';
import type { SkillRecord } from 'pith/skill_registry';
import type { Task } from '../cases/case.ts';
import type { Config } from '../config.ts';
import type { KeptFolder } from '../runs/folders.ts';
import { type RunResult, type Side, WITHOUT } from '../runs/run-store.ts';
import type { PlannedRun, Runner } from '../runs/runner.ts';
import type { Worker } from './worker.ts';

/** A skill whose tasks are run. */
export interface MeasuredSkill {
  readonly skill: Pick<SkillRecord, 'id' | 'realDirectory'>;
  readonly tasks: readonly Task[];
  /** The folder as a proposal would make it; absent: the skill is compared with nothing but its absence. */
  readonly proposed?: string;
}

export type SideName = 'without' | 'in use' | 'proposed';

/** The same tasks with one version of the skill, or without it. */
export interface PlannedSide {
  readonly name: SideName;
  readonly side: Side;
  /** null: without the skill. */
  readonly folder: KeptFolder | null;
}

export interface SkillPlan extends MeasuredSkill {
  readonly sides: readonly PlannedSide[];
  /** Those that were not made before. */
  readonly runs: readonly PlannedRun[];
}

/** A worker with a model. */
export type ReadyWorker = Worker & { readonly model: string };

/** Which runs are wanted, and are not kept yet. */
export async function planFor(
  measured: MeasuredSkill,
  worker: ReadyWorker,
  { runner, config }: { readonly runner: Runner; readonly config: Config },
  signal: AbortSignal,
): Promise<SkillPlan> {
  const { skill, tasks, proposed } = measured;
  const others = await runner.others(skill.id, signal);
  const sides: PlannedSide[] = [{ name: 'without', side: WITHOUT, folder: null }];
  const folders = [['in use', skill.realDirectory] as const, ...(proposed === undefined ? [] : [['proposed', proposed] as const])];
  for (const [name, directory] of folders) {
    const folder = await runner.keep(skill.id, directory, signal);
    if (folder !== null) sides.push({ name, side: folder.side, folder });
  }
  const runs: PlannedRun[] = [];
  const different = [...new Map(sides.map((one) => [one.side, one])).values()]; // a proposal may change nothing that a run sees
  for (const task of tasks)
    for (const { side, folder } of different) {
      const kept = await runner.store.of({ task: task.key, side, ...worker }, config.repeats);
      for (let repetition = 1; repetition <= config.repeats; repetition++)
        if (!kept.has(repetition))
          runs.push({
            id: skill.id,
            cases: skill.realDirectory,
            task: task.key,
            side,
            skill: folder?.directory ?? null,
            others,
            model: worker.model,
            agent: worker.agent,
            isBound: worker.carries.includes(skill.id),
            repetition,
          });
    }
  return { ...measured, sides, runs };
}

/** The results of one task by the side's name. */
export type ResultsOf = ReadonlyMap<SideName, readonly RunResult[]>;

export async function resultsOf(
  { sides }: Pick<SkillPlan, 'sides'>,
  task: Pick<Task, 'key'>,
  worker: ReadyWorker,
  { runner, config }: { readonly runner: Runner; readonly config: Pick<ExtensionContext<Config>['config'], 'repeats'> },
): Promise<ResultsOf> {
  const found = new Map<SideName, readonly RunResult[]>();
  for (const { name, side } of sides)
    found.set(name, [...(await runner.store.of({ task: task.key, side, ...worker }, config.repeats)).values()]);
  return found;
}
