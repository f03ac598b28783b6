import { expect, it } from 'vitest';
import { scriptedModel } from 'pith/testing';
import { cli } from '../../core/cli/fakes.ts';
import { kernelOf } from '../../places.ts';
import { ONLY } from './saved-kernel.ts';

const PAGER = {
  'extensions/pager/manifest.yaml': 'id: pager\nentrypoint: main.ts\nprovides: [channel]\nisolation: in_process\n',
  'extensions/pager/main.ts': `export default class { kinds = ['pager']; filters() { return []; } async deliver() { return 'p1'; } }`,
};

it('J7 M56: `pith run` works on its own run and begins nothing else; with --background it begins nothing', async () => {
  const model = scriptedModel([{ text: 'mine' }]);
  const settings = 'admins: [ada]\nextensions: { saved_skills: { lanes: { skill-default: { slots: 1 }, nightly: { slots: 1 } } } }\n';
  const files = { 'pith.yaml': settings, ...PAGER };
  const pith = await kernelOf({ model, only: [...ONLY, 'task_engine'], files });
  const as = (...words: string[]) => pith.command(words, { userId: 'ada', json: true });
  const run = async (...words: string[]) => {
    const env = { PITH_SANDBOX: pith.sandbox, PITH_USER: 'ada' };
    const ran = await cli(['run', ...words], { openKernel: async () => pith.kernel, env });
    await pith.restart(); // the command has stopped it
    return ran;
  };
  for (const name of ['mine', 'other']) {
    await pith.write(`${name}.yml`, JSON.stringify({ system_prompt: 'You help.', output_target: { kind: 'dm', target: 'pager:ada' } }));
    await as('saved', 'new', name, '--file', `${pith.sandbox}/${name}.yml`);
  }
  await as('saved', 'set-lane', 'other', 'nightly');
  await as('tasks', 'submit', 'tidy up', '--agent', 'orchestrator');
  expect((await run('other', '--background')).out).toMatch(/ is queued\. It is executed while a chat or `pith serve` runs/u);
  expect(await run('mine')).toMatchObject({ code: 0, out: 'mine\n', err: expect.stringContaining('delivered while a chat') });
  const jobs = await pith.kernel.jobs.store.list({ limit: 9 });
  const begun = (name: string) => jobs.filter((job) => job.name === name).map((job) => job.begun !== null);
  expect([begun('task_engine.work'), begun('saved_skills.run'), begun('saved_skills.deliver')]).toEqual([[false], [true, false], [false]]);
});
