import { testKernel, type TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddingsServer, type EmbeddingsServer } from '../../fixtures/embeddings-server.ts';
import { RANKER, SKILLS, WORDS, skill } from '../skill_search/own-words.ts';

describe('pith skills eval', () => {
  let pith: TestKernel;
  let server: EmbeddingsServer;
  beforeAll(async () => {
    server = await startEmbeddingsServer();
    const settings = `extensions: { embedding: { model: concepts, base_url: "${server.url}" } }\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0 }\n`;
    pith = await testKernel({ isolation: 'in_process', files: { 'pith.yaml': settings, ...SKILLS, ...RANKER } });
  });
  afterAll(async () => {
    await pith.stop();
    await server.close();
  });

  async function run(line: string, wantsJson = false) {
    const { code, text, values } = await pith.command(line, { json: wantsJson });
    return { code, text, json: values.at(-1) };
  }

  it('R4 P9 asks offline how the examples find their skill, each without its own help', async () => {
    const { code, text } = await run('skills eval --all');
    expect(text).toMatch(/lexical +24 +9\d\.\d/);
    expect(code).toBe(0);
    expect(server.requests).toEqual([]);
    await pith.write('skills/lonely/SKILL.md', skill('lonely', 'nothing', ['qwertz uiop'])['skills/lonely/SKILL.md']!);
    const lonely = await run('skills eval lonely');
    expect(lonely.text).toContain("lonely is not among the first 100 for 'qwertz uiop' (examples)");
    await pith.remove('skills/lonely');
  });

  it('P9 runs the triggers of evals.yaml, counts its tasks, and says where it is wrong', async () => {
    const file = 'skills/amber-skill/evals/evals.yaml';
    await pith.write(
      file,
      'triggers:\n  - { text: polish amber, should: load }\n  - { text: the amber, should: not_load }\ntasks:\n  - prompt: do it\n',
    );
    const { code, text } = await run('skills eval amber-skill');
    expect(text).toContain("amber-skill is first for 'the amber' (evals), and should not be");
    expect(text).toContain('1 task was not run: no model is connected');
    expect(code).toBe(1);
    await pith.write(file, 'triggers:\n  - text: polish amber\n    shuold: load\n');
    const wrong = await run('skills eval amber-skill');
    expect(wrong).toMatchObject({
      code: 1,
      text: expect.stringMatching(/evals\.yaml:3:5: unknown key 'shuold' in 'triggers\[0\]' \(did you mean 'should'/),
    });
    for (const unplaced of ['[]\n', '# nothing before it\n5\n', '&a [*a]\n', 'triggers: *none\n']) {
      await pith.write(file, unplaced);
      expect((await run('skills eval amber-skill')).text, unplaced).toMatch(/evals\.yaml:\d+:\d+: /);
    }
    await pith.write(file, `# ${'x'.repeat(300_000)}\n`);
    expect((await run('skills eval amber-skill')).text).toMatch(/evals\.yaml: it is not a file of at most 262144 bytes/);
    await pith.remove('skills/amber-skill/evals');
  });

  it('R4 refuses a model that makes the order worse, with the figures, and so does every search', async () => {
    const backwards = (texts: readonly string[]) => ({
      data: texts.map((text) => {
        const at = WORDS.findIndex((word) => text.includes(word));
        const isQuery = !text.includes('All about');
        return { embedding: WORDS.map((_, place) => (place === (isQuery ? (at + WORDS.length - 1) % WORDS.length : at) ? 1 : 0)) };
      }),
    });
    server.behave({ body: backwards });
    const { code, text } = await run('skills eval --ranker fused');
    expect(text).toMatch(/the embedding model lowers nDCG@10 on 24 examples from 0\.9\d+ to 0\.\d+: do not use it/);
    expect(code).toBe(1);
    expect((await run('skills search amber')).text).toContain('the embedding model concepts makes the order worse and is not used');
    const { notes } = await pith.kernel.doctor();
    expect(notes).toContainEqual(
      expect.objectContaining({ code: 'embedding_refused', message: expect.stringMatching(/from 0\.9\d+ to 0\.\d+: it is not used/) }),
    );
  });

  it('R1 measures the ranker of an extension beside the default one, and names those that there are', async () => {
    const told = await run('skills eval --ranker my_ranker');
    expect(told.text).toContain('24 texts are left out: the ranker knows them. It is measured by evals/evals.yaml.');
    await pith.write('skills/jetty-skill/evals/evals.yaml', 'triggers:\n  - { text: a walk on the jetty, should: load }\n');
    const { text } = await run('skills eval --all --ranker my_ranker -k 2');
    await pith.remove('skills/jetty-skill/evals');
    expect(text).toMatch(/lexical +1 +100\.0/);
    expect(text).toMatch(/my_ranker +1 +0\.0/);
    expect(text).toContain('jetty-skill is 3, beyond 2,'); // by the alphabet, backwards
    await expect(run('skills eval --ranker nobody')).rejects.toMatchObject({
      code: 'not_found',
      cure: 'use one of lexical, fused, my_ranker',
    });
    await expect(run('skills eval amber-skill --all')).rejects.toMatchObject({ code: 'usage' });
  });
});
