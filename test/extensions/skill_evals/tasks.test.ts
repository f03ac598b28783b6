import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { startPith } from '../../journeys/pith-process.ts';
import type { OpenAiServer } from '../../fixtures/openai-server.ts';
import { until } from '../../waiting.ts';
import { evalProject, obedient } from './eval-project.ts';

const TASK = '- { prompt: Write a letter to my aunt., expect: [{ contains: ahoy }, { judge: It greets as a sailor. }], split: train }';
const EVALS = `triggers:
  - { text: help me write a letter to my aunt, should: load }
tasks:
  ${TASK}
`;
const settings = (values: string) => `extensions: { skill_evals: { ${values} } }\n`;
const TWICE = settings('repeats: 2');

const modelRequests = ({ requests }: OpenAiServer) => requests.filter(({ method }) => method === 'POST');

describe('pith skills eval with a model', () => {
  it('P9 P12 P14 P15 says before what it costs, asks above the setting, runs each task with and without the skill, and keeps what it measured', async () => {
    const { pith, server, folder } = await evalProject({ evals: EVALS, settings: settings('repeats: 2, ask_above: 3') });
    const asked = await pith('skills', 'eval', 'letters');
    expect(asked).toMatchObject({ code: 1, err: expect.stringContaining(': more than 3 need a yes; add --yes') });
    const offline = await pith('skills', 'eval', 'letters', '--offline');
    expect(offline).toMatchObject({ code: 0, out: expect.stringContaining('1 task was not run: --offline.') });
    expect((await pith('skills', 'eval', 'letters', '--offline')).out).toBe(offline.out); // the same bytes
    expect(modelRequests(server)).toEqual([]);
    const { code, out, err } = await pith('skills', 'eval', 'letters', '--yes');
    expect(err).toContain(
      '4 runs with openai/test-model, about 20,000 tokens in all (no prices are known); at most 600 runs and 2,000,000 tokens',
    );
    expect(err).toContain('run 4 of 4');
    expect(out).toContain('letters: 1 task with openai/test-model, agent writer');
    expect(out).toMatch(/without +2 +0\/2 \(0 %\) +– +15 +\d/);
    expect(out).toMatch(/in use +2 +2\/2 \(100 %\) +2\/2 +45 +\d/);
    expect(out).toMatch(/Write a letter to my aunt\. +train +0\/2 +2\/2 +2\/2 +repaired/);
    expect(out).toContain('Against no skill: 1 repaired, 0 broken, 0 the same.');
    expect(code).toBe(0);
    const bodies = modelRequests(server).map(({ body }) => JSON.stringify(body));
    expect(bodies.filter((body) => body.includes('You judge the work'))).toHaveLength(2);
    const chats = bodies.filter((body) => !body.includes('You judge the work'));
    expect(chats.every((body) => (body.match(/• `letters`/g) ?? []).length <= 1)).toBe(true);
    expect(chats.filter((body) => body.includes('`letters`'))).toHaveLength(4);
    expect(chats.filter((body) => !body.includes('letters'))).toHaveLength(2);
    expect(bodies.some((body) => body.includes('split'))).toBe(false);

    const again = await pith('skills', 'eval', 'letters', '--json');
    expect(modelRequests(server)).toHaveLength(bodies.length);
    expect(JSON.parse(again.out)).toMatchObject({
      model: 'openai/test-model',
      stopped: null,
      skills: [
        {
          id: 'letters',
          verdict: 'better',
          cases: [
            {
              split: 'train',
              verdict: 'repaired',
              sides: [
                { name: 'without', runs: 2, passed: 0, loaded: 0 },
                { name: 'in use', runs: 2, passed: 2, loaded: 2, succeeded: 2 },
              ],
            },
          ],
        },
      ],
    });
    expect(readdirSync(path.join(folder, 'sandbox/data/extensions/skill_evals/trials'))).toEqual([]);
  });

  it('P15 a budget stops it and says so, and the next command goes on from there', async () => {
    const { pith } = await evalProject({ evals: EVALS, settings: settings('repeats: 2, max_runs: 3') });
    const first = await pith('skills', 'eval', 'letters');
    expect(first.err).toContain('Stopped after 3 runs by the setting extensions.skill_evals.max_runs; 1 run was not made.');
    expect(first.out).toContain('1 not measured');
    const second = await pith('skills', 'eval', 'letters');
    expect(second.err).toContain('1 run with openai/test-model');
    expect(second.out).toContain('1 repaired');
  });

  it('P15 a killed process loses no run that has ended', async () => {
    let answered = 0;
    const { folder, pith } = await evalProject({
      evals: `tasks:\n  - { prompt: Write a letter., expect: [{ contains: ahoy }], split: train }\n`,
      settings: TWICE,
      reply: (body) => {
        answered++;
        return obedient(body);
      },
    });
    const child = startPith(['skills', 'eval', 'letters', '--trust'], { cwd: folder, env: { OPENAI_API_KEY: 'sk-test' }, ownGroup: true });
    await until(() => answered >= 3);
    process.kill(-child.child.pid!, 'SIGKILL');
    await child.ended;
    const { err, out } = await pith('skills', 'eval', 'letters');
    const left = Number(/(\d) runs? with openai/.exec(err)?.[1]);
    expect(left).toBeLessThan(4);
    expect(out).toContain('1 repaired');
  });

  it('P15 an interrupted command keeps what was done, and leaves no job that goes on', async () => {
    const { folder, pith } = await evalProject({ evals: EVALS, settings: settings('repeats: 1') });
    const child = startPith(['skills', 'eval', 'letters', '--trust'], { cwd: folder, env: { OPENAI_API_KEY: 'sk-test' } });
    let said = '';
    child.child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await until(() => said.includes('run 1 of 2'));
    child.child.kill('SIGINT');
    expect((await child.ended).code).toBe(130);
    const jobs = JSON.parse((await pith('jobs', 'list', '--json')).out) as readonly { readonly name: string; readonly state: string }[];
    expect(jobs.filter(({ name, state }) => name === 'skill_evals.run' && !['done', 'cancelled', 'dead'].includes(state))).toEqual([]);
    expect((await pith('skills', 'eval', 'letters')).err).toMatch(/^1 run with openai/m);
  });

  it('P14 a pass without loading is no success of the skill, and the files of a case are in its project', async () => {
    const evals = `tasks:\n  - { prompt: Say hello to the reader., files: [files/aunt.txt], expect: [{ contains: hello }], split: train }\n`;
    const { pith, folder } = await evalProject({
      evals,
      files: { 'sandbox/skills/letters/evals/files/aunt.txt': 'Maud' },
      settings: settings('repeats: 1'),
      reply: () => ({ text: 'hello' }),
    });
    const { out } = await pith('skills', 'eval', 'letters');
    expect(out).toMatch(/Say hello to the reader\. +train +1\/1 +1\/1 +0\/1 +same/);
    expect(out).toContain('Against no skill: no measured gain, 1 the same.');
    expect(existsSync(path.join(folder, 'aunt.txt'))).toBe(false);
  });

  it('P12 a run that could not be made is said and counts for nothing', async () => {
    const evals = `tasks:
  - { prompt: Write a letter to my aunt., expect: [{ contains: ahoy }], split: train }
  - { prompt: Write a card., expect: [{ judge: It is a card. }], split: train }
`;
    const { pith } = await evalProject({
      evals,
      settings: settings('repeats: 1'),
      reply: (body) => (JSON.stringify(body.messages).includes('You judge the work') ? { text: 'Well done!' } : obedient(body)),
    });
    const { out, err } = await pith('skills', 'eval', 'letters');
    expect(err).toContain('could not be made: the judge did not answer with PASS or FAIL for each statement');
    expect(out).toContain('Against no skill: no measured gain, 1 the same, 1 not measured.');
    expect((await pith('doctor')).out).not.toContain('skill_evals.run');
  });

  it('P9 without a model it says that tasks were not run', async () => {
    const { pith } = await evalProject({
      evals: EVALS,
      files: { 'sandbox/pith.yaml': 'models: { default: offline/librarian }\ndefault_agent: writer\n' },
    });
    expect(await pith('skills', 'eval', 'letters')).toMatchObject({
      code: 0,
      out: expect.stringContaining('1 task was not run: no model is connected (see: pith setup).'),
    });
  });
});
