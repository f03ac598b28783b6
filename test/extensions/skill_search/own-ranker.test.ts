import { scriptedModel, testKernel, type TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RANKER, SKILLS, WORDS } from './own-words.ts';
import { until } from '../../waiting.ts';

describe.each([{ tier: 'in_process' as const }, { tier: 'process' as const }])('with an extension of its own ($tier)', ({ tier }) => {
  let pith: TestKernel;
  const model = scriptedModel([], { contextWindow: null });
  beforeAll(async () => {
    const reader = "id: reader\nagent: { uses_tools: [skill_registry], skills: { deny: ['knoll-*'] }, instructions: READER }\n";
    const settings =
      'default_agent: reader\nextensions_sandbox: off\nskills: { ranker: my_ranker, sources: { replace: [sandbox/skills] }, poll_seconds: 0 }\n';
    pith = await testKernel({
      isolation: tier,
      model,
      files: { 'agents/reader/manifest.yaml': reader, 'pith.yaml': settings, ...SKILLS, ...RANKER },
    });
    await until(async () => (await search('x')).includes('backwards'));
  });
  afterAll(() => pith.stop());

  async function search(query: string): Promise<string> {
    model.add({ calls: [{ name: 'list_skills', input: { query, limit: 50 } }] }, { text: 'done' });
    const { results } = await pith.run('go on', { threadId: `t${Math.random()}` });
    return JSON.stringify(results[0]);
  }

  it('R1 its order is what the model gets, without ids that nobody has or that the agent may not see', async () => {
    const found = await search('polish the amber');
    expect([...found.matchAll(/`([a-z]+-skill)`/g)].map((match) => match[1])).toEqual(
      WORDS.filter((word) => word !== 'knoll')
        .map((word) => `${word}-skill`)
        .sort()
        .reverse(),
    );
    expect(found).not.toContain('nobody');
  });

  it('R1 where it throws or answers nonsense shared words decide', async () => {
    for (const query of ['explode the amber', 'nan amber']) {
      expect(await search(query)).toContain('amber-skill');
      expect(await search(query)).not.toContain('backwards');
    }
    expect(await search('the amber again')).toContain('backwards');
  });

  it('W32 a long text is searched by its beginning and its end', async () => {
    const long = (middle: string) => ['skills', 'search', `amber ${'x '.repeat(5000)}${middle} ${'x '.repeat(5000)}amber`];
    for (const middle of ['x', 'explode']) expect((await pith.command(long(middle))).text).toContain('backwards');
    expect((await pith.command(['skills', 'search', `${'x '.repeat(5000)} explode`])).text).not.toContain('backwards');
  });

  it('R1 taken away while the chat goes on, shared words decide, and doctor says so', async () => {
    await pith.remove('extensions/my_ranker');
    await pith.kernel.host.extensions.reload('my_ranker').catch(() => undefined);
    expect(await search('polish the amber')).not.toContain('backwards');
    const { notes } = await pith.kernel.doctor();
    expect(notes).toContainEqual(expect.objectContaining({ code: 'ranker_unknown', message: expect.stringContaining("'my_ranker'") }));
  });
});
