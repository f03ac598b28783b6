import { expect, it } from 'vitest';
import { evalProject } from './eval-project.ts';

const EVALS = `triggers:
  - { text: help me write a letter to my aunt, should: load }
tasks:
  - { prompt: Write a letter to my aunt., expect: [{ contains: ahoy }, { judge: It greets as a sailor. }], split: train }
`;

it('P9 P14 P15 runs tasks with and without the skill, says the model, the runs and the tokens, and keeps what it measured', async () => {
  const { pith, server } = await evalProject({ evals: EVALS, settings: 'extensions: { skill_evals: { repeats: 2 } }\n' });
  const first = await pith('skills', 'eval', 'letters');
  console.log(first);
  const count = server.requests.length;
  const second = await pith('skills', 'eval', 'letters');
  console.log(second, count, server.requests.length);
});
