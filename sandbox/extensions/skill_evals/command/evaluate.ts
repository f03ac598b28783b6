import { type Command, type CommandInput, type ExtensionContext, messageOf, PithError, type Remote } from 'pith';
import { SkillLibrary, type SkillRecord } from 'pith/skill_registry';
import { SkillProposals } from 'pith/skill_proposals';
import { type SearchAnswer, type SearchCase, SearchMeasurer } from 'pith/skill_search';
import { countOption } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import { clean } from '@pith/skill-files';
import type { SkillCases } from '../cases/case.ts';
import { readCases } from '../cases/case-files.ts';
import { compareVersions } from '../compare.ts';
import type { Config } from '../config.ts';
import type { Runner } from '../runs/runner.ts';
import { printRankings, type Ranking, rankingJson, rankingsOf, SHOWN_BESIDE } from './search-figures.ts';
import { measureTasks } from './measure-tasks.ts';

/** `pith skills eval`: how skills are found, offline, and what a model does with and without them. */
export function evaluate(context: ExtensionContext<Config>, runner: Runner): Command {
  return {
    path: 'skills eval',
    description: 'Measure skills by their cases: how they are found, and what a model does with and without them',
    arguments: [{ name: 'ids', description: 'ids, display names or source/id; without one, all', variadic: true }],
    options: [
      { name: 'all', type: 'boolean', description: 'every skill, as without ids' },
      { name: 'offline', type: 'boolean', description: 'only what needs no model' },
      { name: 'proposal', type: 'string', description: 'a proposed change, which is compared with the skill in use and with no skill' },
      { name: 'model', short: 'm', type: 'string', description: "a model for the tasks, instead of the agent's" },
      { name: 'agent', short: 'a', type: 'string', description: 'the agent that works on the tasks (default: the default agent)' },
      { name: 'yes', short: 'y', type: 'boolean', description: 'do not ask before many runs' },
      { name: 'ranker', type: 'string', description: "lexical (default), fused (asks the embedding model), or an extension's id" },
      { name: 'limit', short: 'k', type: 'number', default: SHOWN_BESIDE, description: 'up to which rank a skill counts as found' },
    ],
    async run(input, io, signal) {
      const k = countOption(input, 'limit', SHOWN_BESIDE);
      const library = context.use(SkillLibrary);
      const proposal = await proposedBy(context, input);
      const skills = proposal === null ? await offeredSkills(input, library) : [await library.named(proposal.skill)];
      const { cases, problems } = await collect(skills, proposal?.before);
      const search = await searched(context, { skills, cases, ranker: textOption(input, 'ranker') }, signal);
      const rankings = search === null ? [] : rankingsOf(search, k);
      const lines = new Set(await library.catalogued());
      for (const problem of problems) io.error(clean(problem));
      if (search === null) io.print("How skills are found was not measured: the extension 'skill_search' is switched off.");
      else printRankings(io, rankings as [Ranking, ...Ranking[]], { k, ...search });
      const missing = [...cases].filter(([{ id }, { triggers }]) => triggers.length > 0 && !lines.has(id)).map(([{ id }]) => id);
      if (missing.length > 0)
        io.print(
          `No room in the catalog for a line of ${missing.map((id) => printableLine(id)).join(', ')}: only the message, or a search, brings them.`,
        );
      const comparison = proposal === null ? null : await compared(proposal);
      const tasks = [...cases.values()].reduce((sum, one) => sum + one.tasks.length, 0);
      const measured = await measureTasks({ context, runner, input, io }, [...cases], proposal, signal);
      const final = comparison === null || measured.reports.length === 0 ? comparison : await compared(proposal!);
      for (const line of final?.lines ?? []) io.print(clean(line));
      io.json({
        k,
        tasks,
        leftOut: search?.leftOut ?? 0,
        problems: [...problems],
        refused: search?.refused ?? null,
        rankers: rankings.map(rankingJson),
        catalogued: [...cases.keys()].map(({ id }) => id).filter((id) => lines.has(id)),
        ...measured.json,
        ...(final === null ? {} : { comparison: { ...final } as never }),
      });
      const isFailed = rankings.at(-1)?.failed.some((outcome) => outcome.case.from === 'evals') === true && proposal === null;
      const isWrong =
        problems.length > 0 || (search?.refused ?? null) !== null || isFailed || measured.isBroken || final?.verdict === 'worse';
      return isWrong ? 1 : 0;

      function compared(versions: NonNullable<typeof proposal>) {
        return compareVersions({ id: versions.skill, ...versions }, { context, store: runner.store }, signal);
      }
    },
  };
}

function textOption({ options }: Pick<CommandInput, 'options'>, name: string): string | null {
  return typeof options[name] === 'string' ? options[name] : null;
}

async function proposedBy(context: Pick<ExtensionContext, 'find'>, input: CommandInput) {
  const id = textOption(input, 'proposal');
  if (id === null) return null;
  if (input.options['all'] === true)
    throw new PithError('usage', '--all and --proposal cannot be used together', { cure: 'leave out --all' });
  const [proposals] = context.find(SkillProposals);
  const found = (await proposals?.candidate(id)) ?? null;
  const other = [input.arguments['ids'] ?? []].flat().find((each) => each !== found?.skill);
  if (found !== null && other !== undefined)
    throw new PithError('usage', `the proposal is for the skill '${printableLine(found.skill)}', not for '${printableLine(other)}'`, {
      cure: `write: pith skills eval --proposal ${printableLine(id)}`,
    });
  if (found !== null) return found;
  throw new PithError('not_found', `there is no proposal '${printableLine(id)}' that fits its skill`, {
    cure: 'see: pith skills proposals',
  });
}

/** The offered skills and drafts that the command names; all offered ones without ids or with `--all`. */
async function offeredSkills({ arguments: given, options }: CommandInput, library: Remote<SkillLibrary>): Promise<readonly SkillRecord[]> {
  const ids = [given['ids'] ?? []].flat();
  if (ids.length > 0 && options['all'] === true)
    throw new PithError('usage', 'ids and --all cannot be used together', { cure: 'name skills, or take all' });
  if (ids.length === 0) return (await library.records()).skills.filter(({ state }) => state === 'offered');
  const skills = await Promise.all(ids.map((id) => library.named(id)));
  const hidden = skills.find(({ state }) => state !== 'offered' && state !== 'draft');
  if (hidden === undefined) return skills;
  throw new PithError('skill_not_offered', `skill '${printableLine(hidden.id)}' is ${hidden.state}, so nothing finds it`, {
    where: hidden.file,
    cure: `see why: pith skills explain ${printableLine(hidden.id)}`,
  });
}

/** `before`: the folder of the only skill, as its proposal found it. */
async function collect(skills: readonly SkillRecord[], before?: string | null) {
  const cases = new Map<SkillRecord, SkillCases>();
  const problems: string[] = [];
  for (const skill of skills) {
    try {
      cases.set(skill, (await readCases(before ?? skill.realDirectory)) ?? { triggers: [], tasks: [] });
    } catch (error) {
      problems.push(`${error instanceof PithError && error.where !== undefined ? `${error.where}: ` : ''}${messageOf(error)}`);
    }
  }
  return { cases, problems };
}

interface Searched {
  readonly skills: readonly SkillRecord[];
  readonly cases: ReadonlyMap<SkillRecord, SkillCases>;
  readonly ranker: string | null;
}

/** null where nothing searches. */
async function searched(
  context: Pick<ExtensionContext, 'find' | 'use'>,
  { skills, cases, ranker }: Searched,
  signal: AbortSignal,
): Promise<SearchAnswer | null> {
  const [measurer] = context.find(SearchMeasurer);
  if (measurer === undefined) return null;
  const further = [...cases].flatMap(([{ id }, { triggers }]) =>
    triggers.map(({ text, should }): SearchCase => ({ skillId: id, text, should, from: 'evals' })),
  );
  const library = context.use(SkillLibrary);
  const drafts = skills.filter(({ state }) => state === 'draft');
  const replacements = await Promise.all(drafts.map(({ realDirectory, id }) => library.documentAt(realDirectory, id)));
  return measurer.measure(
    {
      skills: skills.map(({ id }) => id),
      cases: further,
      ranker: ranker ?? 'lexical',
      replacements: replacements.filter((document) => document !== null),
    },
    signal,
  );
}
