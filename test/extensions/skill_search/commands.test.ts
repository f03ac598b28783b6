import type { TestKernel } from 'pith/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startEmbeddingsServer, type EmbeddingsServer } from '../../fixtures/embeddings-server.ts';
import { kernelOf } from '../../places.ts';
import { rankerExtension, skillKernel } from '../skill_registry/skill-kernel.ts';
import { skillText } from '../skill_registry/skill-sandbox.ts';

const skill = (id: string, description: string) => ({ [`skills/${id}/SKILL.md`]: skillText({ name: id, description }) });
const SKILLS = {
  ...skill('picture-press', 'Compress images for the web.'),
  ...skill('paper-money', 'Sorts invoices into folders.'),
  ...skill('tongues', 'Translation of documents.'),
};
const RANKER = rankerExtension();

describe('commands ask the same ranker as a turn does, the first time that they are typed', () => {
  let server: EmbeddingsServer;
  let pith: TestKernel;
  beforeEach(async () => void (server = await startEmbeddingsServer()));
  afterEach(() => server.close());

  async function start(settings: string, files: Readonly<Record<string, string>> = {}): Promise<void> {
    const pithYaml = `skills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0${settings} }\n`;
    const model = `extensions: { embedding: { model: concepts, base_url: "${server.url}" } }\n`;
    pith = await kernelOf({
      isolation: 'in_process',
      files: { 'pith.yaml': pithYaml + (settings === '' ? model : ''), ...SKILLS, ...files },
    });
  }

  async function run(line: readonly string[], json = false) {
    const { text, values } = await pith.command(line, { json });
    return { text, json: values.at(-1) };
  }

  it('R4 search and explain --text find what shares no word', async () => {
    await start('');
    const { text } = await run(['skills', 'search', 'zlorp glimms']);
    expect(text).toMatch(/picture-press +[\d.]+ +similar meaning/);
    expect(text).not.toContain('ranked by');
    await pith.restart();
    expect((await run(['skills', 'explain', 'picture-press', '--text', 'zlorp glimms'], true)).json).toMatchObject({
      skill_search: { ranking: { rank: 1, by: 'fused', fallback: null } },
    });
  });

  it('R4 where the model gives no vectors they answer by words, and say so in one line', async () => {
    server.behave({ status: 401, says: 'no' });
    await start('');
    const why = 'ranked by words alone: the embedding model concepts gave no vectors in time; see pith doctor';
    const { text } = await run(['skills', 'search', 'compress']);
    expect(text).toContain('picture-press');
    expect(text.split('\n').filter((line) => line === why)).toHaveLength(1);
    const explained = ['skills', 'explain', 'picture-press', '--text', 'compress'];
    expect((await run(explained)).text.split('\n')).toContain(why);
    expect((await run(explained, true)).json).toMatchObject({ skill_search: { ranking: { rank: 1, by: 'lexical', fallback: why } } });
  });

  it('R1 the ranker that the settings name answers, and where it does not a line says so', async () => {
    await start(', ranker: my_ranker', RANKER);
    const { json } = await run(['skills', 'search', 'compress'], true);
    expect(json).toMatchObject(['tongues', 'picture-press', 'paper-money'].map((id) => ({ id, why: ['backwards'] })));
    expect((await run(['skills', 'explain', 'tongues', '--text', 'compress'])).text).toContain(
      "search: ranks 1 of 3 for 'compress' (score 1.00 by my_ranker; matched backwards)",
    );
    expect((await run(['skills', 'search', 'explode picture'])).text).toMatch(
      /^only ids, names and tags were searched: the ranker 'my_ranker' did not answer\n(.*\n)*picture-press /,
    );
  });
});

it('S80 search ranks, --json has the pinned shape, and T19 nothing that somebody typed moves the cursor', async () => {
  const { pith, print } = await skillKernel({
    'skills/writing/SKILL.md': skillText({ name: 'writing', description: 'Writes clear letters. Use when someone wants a letter.' }),
  });
  const { values } = await pith.command('skills search letter -k 1', { json: true });
  expect(values[0]).toEqual([{ id: 'writing', score: expect.any(Number), why: ['letter'], weak: false }]);
  expect(await print('skills search zebra')).toBe("No skill matches 'zebra'. See pith skills list.");
  const { text } = await pith.command(['skills', 'search', '\u001b[2Jgone\u202e']);
  expect(text.trim()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});
