import type { Command, CommandContext } from 'pith';
import type { Ranked, SkillRanker } from '../search/ranker.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { withRegistry } from './open-registry.ts';
import { table } from './rows.ts';

export function search(context: CommandContext): Command {
  return {
    path: 'skills search',
    description: 'Find skills by what they are for',
    arguments: [{ name: 'query', description: 'words of the request', required: true, variadic: true }],
    options: [{ name: 'limit', short: 'k', type: 'number', default: 8, description: 'how many at most' }],
    run: (input, io) =>
      withRegistry(context, async (_registry, snapshot) => {
        const query = [input.arguments['query'] ?? []].flat().join(' ');
        const k = Math.max(1, Math.trunc(Number(input.options['limit'] ?? 8)));
        const ranked = (await rankerOf(snapshot)).rank(query, { k });
        if (io.wantsJson) io.json(ranked.map(({ id, score, why }) => ({ id, score, why })));
        else if (ranked.length === 0) io.print(`No skill matches '${query}'. See pith skills list.`);
        else io.print(table([['ID', 'SCORE', 'MATCHED', 'DESCRIPTION'], ...ranked.map((one) => rowOf(one, snapshot))], io.columns || 120));
      }),
  };
}

/** Every offered skill, bodies too. */
export async function rankerOf(snapshot: Snapshot): Promise<SkillRanker> {
  const { createRanker } = await import('../search/bm25f.ts');
  const { documentOf, fullDocumentOf } = await import('../search/document.ts');
  const ranker = createRanker();
  for (const skill of snapshot.skills.values()) {
    if (isOffered(skill)) ranker.upsert((await fullDocumentOf(skill)) ?? documentOf(skill));
  }
  return ranker;
}

function isOffered(skill: Skill): boolean {
  return skill.state === 'offered';
}

function rowOf({ id, score, why }: Ranked, snapshot: Snapshot): string[] {
  return [id, score.toFixed(2), why.join(' '), snapshot.skills.get(id)?.description ?? ''];
}
