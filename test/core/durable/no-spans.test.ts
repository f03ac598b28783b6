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
  const rows = store.all('SELECT traceparent FROM turns UNION ALL SELECT traceparent FROM events');
  await store.close();
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter(({ traceparent }) => traceparent !== null)).toEqual([]);
  expect(Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes('opentelemetry'))).toEqual([]);
});
