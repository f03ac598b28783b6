import type { Diagnostic, Remote } from 'pith';
import { EmbeddingProvider } from 'pith/embedding';
import { fakeClock, testKernel, type TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { config } from '../../../../sandbox/extensions/embedding/config.ts';
import Embedding from '../../../../sandbox/extensions/embedding/main.ts';
import { EmbeddingClient } from '../../../../sandbox/extensions/skill_registry/meaning/embedding-client.ts';
import { SearchBackends } from '../../../../sandbox/extensions/skill_registry/search/search-backends.ts';
import { startEmbeddingsServer, type EmbeddingsServer } from '../../../fixtures/embeddings-server.ts';
import { fakeContext } from '../../fake-context.ts';
import { skillText } from '../skill-sandbox.ts';
import { skillOf, snapshotOf } from '../skill-values.ts';

const KEY = 'sk-secret-of-mine';

describe('R4 what is wrong with the embedding server', () => {
  let server: EmbeddingsServer;
  let pith: TestKernel;
  beforeAll(async () => {
    server = await startEmbeddingsServer();
    server.behave({ status: 401, says: `wrong key ${KEY}` });
    const skills = 'skills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0 }\n';
    pith = await testKernel({
      isolation: 'in_process',
      env: { EMBEDDING_API_KEY: KEY },
      files: {
        'pith.yaml': `${skills}extensions: { embedding: { model: concepts, base_url: "${server.url}" } }\n`,
        'skills/paper-money/SKILL.md': skillText({ name: 'paper-money', description: 'Sorts invoices.' }),
      },
    });
  });
  afterAll(async () => {
    await pith.stop();
    await server.close();
  });

  async function told(): Promise<readonly Diagnostic[]> {
    const report = await pith.kernel.doctor();
    expect(JSON.stringify(report)).not.toContain(KEY);
    return report.notes.filter(({ code }) => code === 'embedding_failed');
  }

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
      ['html', /sent something that is no JSON/, /extensions\.embedding\.model/],
    ] as const) {
      server.behave(behaviour);
      const [finding, ...more] = await told();
      expect(finding).toMatchObject({ severity: 'warning', message: expect.stringMatching(message), cure: expect.stringMatching(cure) });
      expect(finding!.message).toMatch(/^the embedding model concepts gave no vector for a search/);
      expect(more).toEqual([]);
    }
    server.behave('well');
    await expect.poll(told, { timeout: 5000 }).toEqual([]);
    const asked = server.requests.length;
    expect(await told()).toEqual([]);
    expect(server.requests).toHaveLength(asked);
  });
});

describe('R4 a process that has asked for no vector yet asks for one', () => {
  /** What a search that has just begun finds wrong; none of its requests was answered. */
  async function told(settings: Record<string, unknown>, skills: Record<string, unknown> = {}): Promise<readonly Diagnostic[]> {
    const extension = new Embedding(fakeContext({ config: config.parse({ model: 'concepts', ...settings }) }));
    const { embeddingModel } = extension;
    const remote = { extensionId: 'embedding', embeddingModel, embed: extension.embed.bind(extension) } as Remote<EmbeddingProvider>;
    const find = (protocol: unknown) => (protocol === EmbeddingProvider ? [remote] : []);
    const events = { handle: () => () => {} };
    const context = { ...fakeContext({ config: skills }), find, events } as unknown as ConstructorParameters<
      typeof SearchBackends
    >[0]['context'];
    const backends = new SearchBackends({ context, readBody: async () => '', learned: { of: () => [] } });
    const found = await backends.findings(snapshotOf([skillOf('alpha')]));
    await backends.close();
    return found.filter(({ code }) => code === 'embedding_failed');
  }

  it('so that a missing key and a server that is down are findings', async () => {
    const [noKey] = await told({});
    expect(noKey).toMatchObject({ message: expect.stringContaining('no key is set for OpenAI') });
    expect(noKey!.cure).toContain('set OPENAI_API_KEY');
    const down = await startEmbeddingsServer();
    await down.close();
    expect(await told({ base_url: down.url })).toMatchObject([{ message: expect.stringContaining('cannot be asked') }]);
  });

  it('but not where no vectors are wanted', async () => {
    expect(await told({}, { embedding: 'off' })).toEqual([]);
  });

  it('and waits no longer than a person waits', async () => {
    const clock = fakeClock();
    let signal: AbortSignal | undefined;
    const embed = (_texts: unknown, _options: unknown, given?: AbortSignal) => new Promise<never>(() => (signal = given));
    const provider = { extensionId: 'slow', embeddingModel: 'slow', embed } as unknown as Remote<EmbeddingProvider>;
    const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const checked = new EmbeddingClient({ find: () => [provider], clock, logger }).check(2000);
    await clock.advance(2000);
    expect(await checked).toMatchObject({ model: 'slow', message: 'no answer within 2 s' });
    expect(signal?.aborted).toBe(true);
  });
});
