import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fakeClock, type TestKernel } from 'pith/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PatientEmbedder } from '../../../sandbox/extensions/embedding/patient-embedder.ts';
import { SkillReranker } from '../../../sandbox/extensions/embedding/reranker.ts';
import { startEmbeddingsServer, type EmbeddingsServer } from '../../fixtures/embeddings-server.ts';
import { skillKernel, type SkillKernel } from '../skill_registry/skill-kernel.ts';
import { skillText } from '../skill_registry/skill-sandbox.ts';
import { until } from '../../waiting.ts';

const skill = (id: string, description: string, body = `BODY-OF-${id}\n`) => ({
  [`skills/${id}/SKILL.md`]: skillText({ name: id, description, body }),
});
const SKILLS = {
  ...skill('picture-press', 'Compress images for the web.'),
  ...skill('paper-money', 'Sorts invoices into folders.'),
  ...skill('tongues', 'Translation of documents.'),
  ...skill('gatherings', 'Puts meetings into a calendar.'),
  ...skill('wheels', 'Everything about vehicles and their repair.'),
};
/** No word of it stands in any skill. */
const SYNONYMS = 'zlorp glimms';

describe('R4 skills are found by their meaning', () => {
  let server: EmbeddingsServer;
  let world: SkillKernel;
  let pith: TestKernel;
  beforeEach(async () => {
    server = await startEmbeddingsServer();
  });
  afterEach(async () => {
    server.release();
    await pith.stop();
    await server.close();
  });

  async function start({
    files = SKILLS as Record<string, string>,
    settings = '',
    embedding = 'model: concepts',
    agent = '',
    wire = false,
    env = {},
  } = {}) {
    const reader = `id: reader\nagent: { uses_tools: [skill_registry], ${agent}instructions: READER }\n`;
    const extension = embedding === '' ? '' : `extensions: { embedding: { ${embedding}, base_url: "${server.url}" } }\n`;
    const pithYaml = `default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0${settings} }\n${extension}`;
    world = await skillKernel(
      { 'agents/reader/manifest.yaml': reader, 'pith.yaml': pithYaml, ...files },
      { wire, env, only: ['embedding', 'skill_stats'] },
    );
    return (pith = world.pith);
  }

  /** What `list_skills` told the model. */
  const search = (query: string) => world.resultOf('list_skills', { query });

  /** The first search begins the background work: until there is a vector for each of so many skills. */
  async function indexed(count: number, query = SYNONYMS): Promise<void> {
    await search(query);
    await until(() => server.texts().filter((text) => text.includes('BODY-OF')).length >= count);
    await until(async () => (await search(query)).includes('similar meaning'));
  }

  it('also where no word is shared, and says why', async () => {
    await start({ wire: true });
    expect(await search(SYNONYMS)).toContain('No skill matches');
    await indexed(5);
    const found = await search(SYNONYMS);
    expect(found).toMatch(/• `picture-press`.*\[matches: similar meaning\]/);
    expect(found).toMatch(/• `wheels`.*\[weak match; matches: similar meaning\]/);
  });

  it('and by words alone where no model is set up: nothing is asked for, and the extension is not loaded again', async () => {
    await start({ embedding: '' });
    expect(await search(SYNONYMS)).toContain('No skill matches');
    const state = () => pith.kernel.host.extensions.list().find(({ id }) => id === 'embedding')?.state;
    await until(() => state() === 'active'); // it was asked whether it has a model
    await pith.restart();
    await search(SYNONYMS);
    expect(state()).toBe('idle');
    expect(server.requests).toEqual([]);
  });

  it('a text is asked for once: a restart asks for no skill again, a changed skill for one', async () => {
    await start();
    await indexed(5);
    const documents = () => server.texts().filter((text) => text.includes('BODY-OF'));
    expect(documents()).toHaveLength(5);
    await pith.restart();
    await until(async () => (await search('glimms to zlorp')).includes('similar meaning'));
    expect(documents()).toHaveLength(5);
    await pith.write(
      'skills/wheels/SKILL.md',
      skillText({ name: 'wheels', description: 'Automobile repair.', body: 'BODY-OF-wheels, new\n' }),
    );
    await until(async () => {
      await search('glimms to zlorp');
      return documents().length > 5;
    });
    await pith.restart(); // what was under way has ended
    expect(documents()).toHaveLength(6);
    expect(documents()[5]).toContain('Automobile repair.');
  });

  it('an agent that may see two skills gets no third, however near it is', async () => {
    await start({ agent: "skills: { allow: ['wheels', 'tongues'] }, " });
    await indexed(5, 'vroomer');
    const found = await search(SYNONYMS);
    expect(found).not.toContain('picture-press');
    expect(await search('vroomer')).toContain('wheels');
  });

  it('the part beside the message holds what is near, and the system part does not change', async () => {
    const others = Object.assign({}, ...Array.from({ length: 20 }, (_, at) => skill(`other-${at}`, 'Says nothing of it.'))) as object;
    await start({ agent: 'skills: { budget_tokens: 100 }, ', files: { ...SKILLS, ...others } });
    await indexed(25);
    const { requests } = await world.chat(SYNONYMS, [], 'other');
    const sent = JSON.stringify(requests[0]!.messages);
    expect(sent).toMatch(/Skills for this message.*picture-press/);
    const again = await world.chat('the florps', [], 'third');
    expect(JSON.stringify(again.requests[0]!.messages)).toMatch(/Skills for this message.{0,40}paper-money/);
    expect(again.requests[0]!.system).toBe(requests[0]!.system);
  });

  it('a server that does not answer is not waited for, and its late answer is kept', async () => {
    await start();
    await indexed(5);
    server.behave('hang');
    expect(await search('zlorp a glimms')).not.toContain('similar meaning');
    const asked = server.requests.length;
    await search('vehicles and an automobile'); // one is late: nobody waits for another
    server.behave('well');
    server.release();
    await until(async () => (await search('zlorp a glimms')).includes('picture-press'));
    expect(server.requests.slice(asked).flatMap(({ input }) => input)).not.toContain('zlorp a glimms');
  });

  it.each([
    ['refuses the key', { status: 401, says: 'wrong key sk-secret-of-mine' }, /refused the key that is set in EMBEDDING_API_KEY \(401\)/],
  ] as const)('a server that %s is named once, and words find what they find', async (_name, behaviour, line) => {
    server.behave(behaviour);
    await start({ env: { EMBEDDING_API_KEY: 'sk-secret-of-mine' } });
    expect(await search('compress images')).toContain('picture-press');
    await until(() => server.requests.length > 0);
    for (let turn = 0; turn < 2; turn++) expect(await search('compress images')).toContain('picture-press');
    const log = await logOf(pith);
    expect(log).toMatch(line);
    expect(log.split('by their words alone').length - 1).toBe(1);
    expect(log).not.toContain('sk-secret-of-mine');
    expect(server.requests.length).toBeLessThanOrEqual(2);
    expect(server.requests[0]?.authorization).toBe('Bearer sk-secret-of-mine');
  });

  it('vectors of another length than before are not compared', async () => {
    await start();
    await indexed(5);
    server.behave({ body: (texts) => ({ data: texts.map(() => ({ embedding: [1, 0, 0] })) }) });
    expect(await search('compress a glimms')).toContain('picture-press');
    await pith.write('skills/wheels/SKILL.md', skillText({ name: 'wheels', description: 'Cars.', body: 'BODY-OF-wheels, new\n' }));
    const asked = server.requests.length;
    await until(async () => {
      await search('compress a glimms');
      return server.requests.length > asked;
    });
    expect(await logOf(pith)).toContain('gave vectors of 3 numbers, before 32');
  });

  it('while the chat goes on a model is set up, and switched off again', async () => {
    await start({ embedding: '' });
    expect(await search(SYNONYMS)).toContain('No skill matches');
    const settings = readFileSync(path.join(pith.sandbox, 'pith.yaml'), 'utf8');
    await pith.write('pith.yaml', `${settings}extensions: { embedding: { model: concepts, base_url: "${server.url}" } }\n`);
    await pith.kernel.host.extensions.reload('embedding');
    await indexed(5);
    expect(await search(SYNONYMS)).toContain('picture-press');
    await pith.write('pith.yaml', settings);
    await pith.kernel.host.extensions.reload('embedding');
    expect(await search(SYNONYMS)).toContain('No skill matches');
  });
});

it('R4 a slow server has at most four open requests for messages', async () => {
  const open: (() => void)[] = [];
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const ports = { model: 'concepts', clock: fakeClock(), logger };
  const embed = (texts: readonly string[]) => new Promise<number[][]>((resolve) => open.push(() => resolve(texts.map(() => [1]))));
  const database = null as never; // there are no skills
  const reranker = new SkillReranker({ ...ports, embedder: new PatientEmbedder({ ...ports, embed }), library: () => null, database });
  const ask = (query: string) => reranker.rerank([{ query, found: [] }], { k: 1 });
  const asked = ['a', 'b', 'c', 'd', 'd', 'e', 'f'].map(ask);
  expect(open).toHaveLength(4);
  for (const answer of open) answer();
  await Promise.all(asked);
  const later = ask('e');
  expect(open).toHaveLength(5);
  open[4]!();
  await later;
});

/** All that was logged; the kernel is stopped for it. */
async function logOf({ kernel, sandbox }: TestKernel): Promise<string> {
  await kernel.stop();
  const folder = path.join(sandbox, 'data');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.log') || name.endsWith('.jsonl'),
  );
  return files.map((name) => readFileSync(path.join(folder, name), 'utf8')).join('\n');
}
