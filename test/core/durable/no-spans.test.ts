import { createRequire } from 'node:module';
import { scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';

it('K32 while nobody collects spans the API for them is not even loaded', async () => {
  await using pith = await testKernel({
    only: [],
    model: scriptedModel([{ text: 'done' }]),
    files: { 'agents/main/manifest.yaml': 'id: main\nagent: {}\n', 'pith.yaml': 'default_agent: main\n' },
  });
  await pith.kernel.start();
  expect((await pith.run('go')).reason).toBe('done');
  expect(Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes('opentelemetry'))).toEqual([]);
});
