import { type AgentSpec, type Command, type CommandInput, PithError, type Remote } from 'pith';
import type { FoundSkills, SkillExplainer, SkillLibrary, SkillRecord } from 'pith/skill_registry';
import { countOption, renderTable, textColumns, widthOf } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import { briefOf } from '@pith/skill-files';
import type { LearnedExamples } from './learning/learned-examples.ts';

/** Finds skills for a command, which waits for a complete answer. */
export interface SkillFinder {
  find(query: string, options: { readonly k: number; readonly agent?: AgentSpec }, signal?: AbortSignal): Promise<FoundSkills>;
}

/** `pith skills search`. */
export function search(finder: SkillFinder, library: Remote<SkillLibrary>): Command {
  return {
    path: 'skills search',
    description: 'Find skills by their purpose',
    arguments: [{ name: 'query', description: 'words of the request', required: true, variadic: true }],
    options: [{ name: 'limit', short: 'k', type: 'number', default: 8, description: 'how many at most' }],
    async run(input, io, signal) {
      const query = [input.arguments['query'] ?? []].flat().join(' ');
      const { ranked, note } = await finder.find(query, { k: countOption(input, 'limit', 8) }, signal);
      if (note !== null) io.error(note);
      const { skills } = await library.records();
      const rows = ranked.map(({ id, score, why, weak }) => {
        const skill = skills.find((one) => one.id === id);
        return [
          id,
          score.toFixed(2),
          [...(weak === true ? ['(weak)'] : []), ...why.map((word) => printableLine(word, 60))].join(' '),
          skill === undefined ? '' : briefOf(skill),
        ];
      });
      if (io.wantsJson) io.json(ranked.map(({ id, score, why, weak = false }) => ({ id, score, why: [...why], weak })));
      else if (ranked.length === 0) io.print(`No skill matches '${printableLine(query, 200)}'. See pith skills list.`);
      else io.print(renderTable(rows, textColumns(['ID', 'SCORE', 'MATCHED', 'DESCRIPTION']), widthOf(io)));
    },
  };
}

/** The offered skills that a command names by `ids`; all without ids or with `--all`. Throws `usage` for both. */
export async function offeredSkills(
  { arguments: given, options }: Pick<CommandInput, 'arguments' | 'options'>,
  library: Remote<SkillLibrary>,
): Promise<readonly SkillRecord[]> {
  const ids = [given['ids'] ?? []].flat();
  if (ids.length > 0 && options['all'] === true)
    throw new PithError('usage', 'ids and --all cannot be used together', { cure: 'name skills, or take all' });
  if (ids.length === 0) return (await library.records()).skills.filter(isOffered);
  const skills = await Promise.all(ids.map((id) => library.named(id)));
  const hidden = skills.find((skill) => !isOffered(skill));
  if (hidden === undefined) return skills;
  throw new PithError('skill_not_offered', `skill '${printableLine(hidden.id)}' is ${hidden.state}, so no search finds it`, {
    where: hidden.file,
    cure: `see why: pith skills explain ${printableLine(hidden.id)}`,
  });
}

export function isOffered({ state }: SkillRecord): boolean {
  return state === 'offered';
}

/** More than any sandbox has. */
const ALL = 1_000_000;

/** The other texts by which a skill is found. */
export interface Extras {
  readonly learned: LearnedExamples | null;
  /** How many requests a model wrote for it. */
  written(skill: SkillRecord): Promise<number>;
}

/** A skill's rank for a text among those that the agent may see, and the number of learned and written texts that help to find it. */
export async function explainRanking(
  finder: SkillFinder,
  { learned, written }: Extras,
  [skill, { agent, text }, signal]: Parameters<SkillExplainer['explainSkill']>,
): ReturnType<SkillExplainer['explainSkill']> {
  const lines: string[] = [];
  let ranking = null;
  if (text !== null) {
    const { ranked, by, note } = await finder.find(text, { k: ALL, ...(agent === null ? {} : { agent }) }, signal);
    const at = skill.state === 'offered' ? ranked.findIndex(({ id }) => id === skill.id) : -1;
    const { score = null, why = [], weak = false } = ranked[at] ?? {};
    ranking = { text, rank: at < 0 ? null : at + 1, of: ranked.length, score, why, weak, by, fallback: note };
    lines.push(
      at < 0
        ? `search: does not rank for '${text}'; ${ranked.length === 1 ? '1 other skill does' : `${ranked.length} other skills do`}`
        : `search: ranks ${at + 1} of ${ranked.length} for '${text}' (score ${score?.toFixed(2)}${by === 'lexical' || by === null ? '' : ` by ${by}`}; ${weak ? 'weak match; ' : ''}matched ${why.join(', ')})`,
      ...(note === null ? [] : [note]),
    );
  }
  await learned?.look();
  const count = learned?.count(skill.id) ?? 0;
  if (count > 0) lines.push(`learned: ${count} of the texts that it was loaded for ${count === 1 ? 'helps' : 'help'} to find it`);
  const requests = skill.state === 'offered' ? await written(skill) : 0;
  if (requests > 0)
    lines.push(
      `enriched: ${requests === 1 ? '1 request that a model wrote helps' : `${requests} requests that a model wrote help`} to find it`,
    );
  return { lines, json: { ranking, learned: count, enriched: requests } };
}
