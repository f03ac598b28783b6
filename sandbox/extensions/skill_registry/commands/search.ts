import type { Command } from 'pith';
import { printableLine } from '@pith/plain-text';
import { briefOf } from '../catalog/brief.ts';
import type { SkillRegistry } from '../registry.ts';
import type { Ranked } from '../search/ranker.ts';
import type { SkillSearch } from '../search/skill-search.ts';
import type { Snapshot } from '../skill.ts';
import { countOption, table, widthOf } from './rows.ts';

export function search(registry: SkillRegistry, found: SkillSearch): Command {
  return {
    path: 'skills search',
    description: 'Find skills by what they are for',
    arguments: [{ name: 'query', description: 'words of the request', required: true, variadic: true }],
    options: [{ name: 'limit', short: 'k', type: 'number', default: 8, description: 'how many at most' }],
    async run(input, io, signal) {
      const query = [input.arguments['query'] ?? []].flat().join(' ');
      const k = countOption(input, 'limit', 8);
      const snapshot = await registry.refreshIfOlderThan(0);
      const { ask, instead } = await found.patiently(snapshot, query, signal);
      const answer = await ask({ k });
      const note = instead(answer);
      if (note !== null) io.error(note);
      const { ranked } = answer;
      if (io.wantsJson) io.json(ranked.map(({ id, score, why }) => ({ id, score, why })));
      else if (ranked.length === 0) io.print(`No skill matches '${printableLine(query)}'. See pith skills list.`);
      else
        io.print(
          table(
            ['ID', 'SCORE', 'MATCHED', 'DESCRIPTION'],
            ranked.map((one) => rowOf(one, snapshot)),
            widthOf(io),
          ),
        );
    },
  };
}

function rowOf({ id, score, why }: Ranked, snapshot: Snapshot): string[] {
  const skill = snapshot.skills.get(id);
  return [id, score.toFixed(2), why.join(' '), skill === undefined ? '' : briefOf(skill)];
}
