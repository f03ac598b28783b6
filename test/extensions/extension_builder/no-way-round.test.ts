import { existsSync } from 'node:fs';
import path from 'node:path';
import { scriptedModel } from 'pith/testing';
import { expect, it } from 'vitest';
import { bench, CITY_TIME, passed } from './bench.ts';

it('K50 K72 a call beside it that writes the checked bytes back gets no version activated without a question', async () => {
  const good = 'export const z = 1;\n';
  let digest = '';
  const model = scriptedModel([
    () => ({
      calls: [
        { name: 'file', input: { action: 'write', path: '.staging/extensions/city_time/zz.ts', content: good } },
        { name: 'activate_extension', input: { id: 'city_time', digest } },
        { name: 'activate_skill', input: { id: 'none-such', digest } },
      ],
    }),
  ]);
  const made = await bench({ model });
  // the large file holds up the reading, so that the write is over before the activation looks again
  await made.stage('city_time', { ...CITY_TIME, 'a.ts': `// ${'x'.repeat(6_000_000)}\n`, 'zz.ts': good });
  digest = await passed(made);
  await made.stage('city_time', { 'zz.ts': 'export const z = 2;\n' });
  const { reason } = await made.test.run('go', { agent: 'builder_agent' });
  expect(reason).toBe('awaiting_approval');
  expect(existsSync(path.join(made.test.sandbox, 'extensions/city_time'))).toBe(false);
  const questions = await made.test.kernel.approvals.list();
  expect(questions.map(({ tool }) => tool)).toEqual(['extension_builder/activate_extension']);
});
