import type { Diagnostic, JsonValue } from 'pith';
import { fakeClock, type TestKernel } from 'pith/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { PatientEmbedder } from '../../../sandbox/extensions/embedding/patient-embedder.ts';
import { startEmbeddingsServer, type EmbeddingsServer } from '../../fixtures/embeddings-server.ts';
import { kernelOf } from '../../places.ts';
import { skillText } from '../skill_registry/skill-sandbox.ts';

const KEY = 'sk-secret-of-mine';

const open = (
  embedding: Record<string, JsonValue>,
  skills: Record<string, JsonValue>,
  env: Record<string, string> = {},
): Promise<TestKernel> =>
  kernelOf({
    only: ['embedding', 'orchestrator', 'skill_evals'],
    env,
    flags: { extensions: { embedding }, skills: { sources: { replace: ['sandbox/skills'] }, poll_seconds: 0, ...skills } },
    files: { 'skills/paper-money/SKILL.md': skillText({ name: 'paper-money', description: 'Sorts invoices.' }) },
  });

async function told({ kernel }: TestKernel): Promise<readonly Diagnostic[]> {
  const report = await kernel.doctor();
  expect(JSON.stringify(report)).not.toContain(KEY);
  return report.notes.filter(({ code }) => code === 'embedding_failed');
}

describe('R4 what is wrong with the embedding server', () => {
  let server: EmbeddingsServer;
  let pith: TestKernel;
  beforeEach(async () => {
    server = await startEmbeddingsServer();
    onTestFinished(() => server.close());
    server.behave({ status: 401, says: `wrong key ${KEY}` });
    pith = await open({ model: 'concepts', base_url: server.url }, {}, { EMBEDDING_API_KEY: KEY });
  });

  it('is said by pith skills eval itself', async () => {
    await expect(pith.command('skills eval --all --ranker fused')).rejects.toMatchObject({
      message: expect.stringMatching(/gives no vectors: .*refused the key that is set in EMBEDDING_API_KEY \(401\)/),
      cure: 'set a valid key in EMBEDDING_API_KEY',
    });
  });

  it('is a finding until it answers again, whatever it was, and then nothing more is asked', async () => {
    for (const [behaviour, message, cure] of [
      [{ status: 401, says: `wrong key ${KEY}` }, /refused the key that is set in EMBEDDING_API_KEY \(401\)/, /set a valid key/],
      [{ status: 500 }, /answered 500/, /server's log/],
      ['html', /sent something that is not JSON/, /extensions\.embedding\.model/],
    ] as const) {
      server.behave(behaviour);
      const [finding, ...more] = await told(pith);
      expect(finding).toMatchObject({ severity: 'warning', message: expect.stringMatching(message), cure: expect.stringMatching(cure) });
      expect(finding!.message).toMatch(/^the embedding model concepts gave no vectors \(.*\), so words alone decide: /);
      expect(more).toEqual([]);
    }
    server.behave('well');
    await expect.poll(() => told(pith)).toEqual([]);
    const asked = server.requests.length;
    expect(await told(pith)).toEqual([]);
    expect(server.requests).toHaveLength(asked);
  });
});

describe('R4 a process that has asked for no vector yet asks for one', () => {
  const findings = async (embedding: Record<string, JsonValue>, skills: Record<string, JsonValue> = {}) =>
    told(await open({ model: 'concepts', ...embedding }, skills));

  it('so that a missing key and a server that is down are findings', async () => {
    const [noKey] = await findings({});
    expect(noKey).toMatchObject({ message: expect.stringContaining('no key is set for OpenAI') });
    expect(noKey!.cure).toContain('set OPENAI_API_KEY');
    const down = await startEmbeddingsServer();
    await down.close();
    expect(await findings({ base_url: down.url })).toMatchObject([{ message: expect.stringContaining('cannot be asked') }]);
  });

  it('but not where no vectors are wanted', async () => {
    expect(await findings({}, { embedding: 'off' })).toEqual([]);
  });

  it('and waits no longer than a person waits', async () => {
    const clock = fakeClock();
    let signal: AbortSignal | undefined;
    const embed = (_texts: unknown, _options: unknown, given?: AbortSignal) => new Promise<never>(() => (signal = given));
    const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const checked = new PatientEmbedder({ model: 'slow', embed, clock, logger }).findings();
    await clock.advance(2000);
    expect(await checked).toMatchObject([{ message: expect.stringContaining('no answer within 2 s') }]);
    expect(signal?.aborted).toBe(true);
  });
});
