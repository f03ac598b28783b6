import { createRequire } from 'node:module';
import path from 'node:path';
import { systemClock } from '@pith/promises';
import { scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';
import { openStore } from '../../../core/store/index.ts';

it('K32 U51 while nobody collects spans the API for them is not even loaded, and no traceparent is stored', async () => {
  await using pith = await testKernel({
    only: [],
    model: scriptedModel([{ text: 'done' }]),
    files: { 'agents/main/manifest.yaml': 'id: main\nagent: {}\n', 'pith.yaml': 'default_agent: main\n' },
  });
  await pith.kernel.start();
  expect((await pith.run('go')).reason).toBe('done');
  const store = openStore(path.join(pith.sandbox, 'data', 'pith.db'), systemClock);
  const turns = store.all('SELECT id FROM turns');
  const traces = store.all('SELECT traceparent FROM turntraces UNION ALL SELECT traceparent FROM eventtraces');
  await store.close();
  expect(turns).toHaveLength(1);
  expect(traces).toEqual([]);
  expect(Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes('opentelemetry'))).toEqual([]);
});
