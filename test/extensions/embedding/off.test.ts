import { expect, it, onTestFinished } from 'vitest';
import { startEmbeddingsServer } from '../../fixtures/embeddings-server.ts';
import { skill, skillKernel, SKILLS } from '../skill_registry/skill-kernel.ts';

it('R4 without embedding a chat goes on, words find skills, and nobody is asked for vectors', async () => {
  const server = await startEmbeddingsServer();
  onTestFinished(() => server.close());
  const world = await skillKernel(
    {
      ...skill('picture-press', { description: 'Compress images for the web.' }),
      'pith.yaml':
        'default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0 }\n' +
        `extensions: { embedding: { enabled: false, model: concepts, base_url: "${server.url}" } }\n`,
    },
    { only: [...SKILLS, 'skill_evals'] },
  );
  const { requests } = await world.chat('hello');
  expect(requests[0]!.system).toContain('`picture-press`');
  expect(await world.print('skills search compress')).toContain('picture-press');
  expect(await world.print('skills search zlorp glimms')).toBe("No skill matches 'zlorp glimms'. See pith skills list.");
  await expect(world.print('skills eval --ranker fused')).rejects.toMatchObject({ message: 'no embedding model is set up' });
  const { notes } = await world.pith.kernel.doctor();
  expect(notes.filter(({ code }) => code.startsWith('embedding'))).toEqual([]);
  expect(server.requests).toEqual([]);
});
