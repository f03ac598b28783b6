import { type Command, type CommandInput, PithError, type Remote } from 'pith';
import type { SkillLibrary } from 'pith/skill_registry';
import { renderTable, textColumns, widthOf } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import { briefOf } from '@pith/skill-files';
import type { SkillFinder } from './explain.ts';

export function search(finder: SkillFinder, library: Remote<SkillLibrary>): Command {
  return {
    path: 'skills search',
    description: 'Find skills by what they are for',
    arguments: [{ name: 'query', description: 'words of the request', required: true, variadic: true }],
    options: [{ name: 'limit', short: 'k', type: 'number', default: 8, description: 'how many at most' }],
    async run(input, io, signal) {
      const query = [input.arguments['query'] ?? []].flat().join(' ');
      const { ranked, note } = await finder.find(query, { k: countOption(input, 'limit', 8) }, signal);
      if (note !== null) io.error(note);
      const { skills } = await library.records();
      const rows = ranked.map(({ id, score, why }) => {
        const skill = skills.find((one) => one.id === id);
        return [id, score.toFixed(2), why.join(' '), skill === undefined ? '' : briefOf(skill)];
      });
      if (io.wantsJson) io.json(ranked.map(({ id, score, why }) => ({ id, score, why: [...why] })));
      else if (ranked.length === 0) io.print(`No skill matches '${printableLine(query)}'. See pith skills list.`);
      else io.print(renderTable(rows, textColumns(['ID', 'SCORE', 'MATCHED', 'DESCRIPTION']), widthOf(io)));
    },
  };
}

/** How many things an option asks for. Throws `usage` for what is no whole number from 1. */
export function countOption({ options }: Pick<CommandInput, 'options'>, name: string, otherwise: number): number {
  const given = options[name] ?? otherwise;
  if (Number.isSafeInteger(given) && Number(given) >= 1) return Number(given);
  throw new PithError('usage', `--${name} must be a whole number of at least 1, not '${String(given)}'`);
}
