import type { Command, CommandContext } from 'pith';
import { briefOf } from '../catalog/brief.ts';
import type { SkillRegistry } from '../registry.ts';
import type { Ranked } from '../search/ranker.ts';
import type { SearchAnswer, SearchOptions } from '../search/skill-search.ts';
import type { Snapshot } from '../skill.ts';
import { withRegistry } from './open-registry.ts';
import { table, widthOf } from './rows.ts';

export function search(context: CommandContext): Command {
  return {
    path: 'skills search',
    description: 'Find skills by what they are for',
    arguments: [{ name: 'query', description: 'words of the request', required: true, variadic: true }],
    options: [{ name: 'limit', short: 'k', type: 'number', default: 8, description: 'how many at most' }],
    run: (input, io) =>
      withRegistry(context, async (registry, snapshot) => {
        const query = [input.arguments['query'] ?? []].flat().join(' ');
        const k = Math.max(1, Math.trunc(Number(input.options['limit'] ?? 8)));
        const { ranked } = await rank(context, registry, snapshot, query, { k });
        if (io.wantsJson) io.json(ranked.map(({ id, score, why }) => ({ id, score, why })));
        else if (ranked.length === 0) io.print(`No skill matches '${query}'. See pith skills list.`);
        else
          io.print(
            table(
              ['ID', 'SCORE', 'MATCHED', 'DESCRIPTION'],
              ranked.map((one) => rowOf(one, snapshot)),
              widthOf(io),
            ),
          );
      }),
  };
}

/** Ranks by every body: what is not in the stored index is read first, and is in it afterwards. */
export async function rank(
  context: CommandContext,
  registry: SkillRegistry,
  snapshot: Snapshot,
  query: string,
  options: Omit<SearchOptions, 'patienceMs'>,
): Promise<SearchAnswer> {
  const { openIndex } = await import('../search/open-index.ts');
  const { SkillSearch } = await import('../search/skill-search.ts');
  const found = new SkillSearch(openIndex(context, registry));
  try {
    await found.prepare(snapshot);
    await found.settled();
    return await found.rank(snapshot, query, { ...options, patienceMs: 0 });
  } finally {
    await found.close();
  }
}

function rowOf({ id, score, why }: Ranked, snapshot: Snapshot): string[] {
  const skill = snapshot.skills.get(id);
  return [id, score.toFixed(2), why.join(' '), skill === undefined ? '' : briefOf(skill)];
}
