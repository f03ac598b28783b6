import { scriptedModel } from 'pith/testing';
import { expect, it } from 'vitest';
import { folderWith, kernelOf } from '../../places.ts';
import { letters } from './eval-project.ts';

const HELD_OUT = 'a sentence that nobody may see';

it('P13 no tool of an agent reads, lists or finds the cases of a skill', async () => {
  const folder = folderWith({
    'sandbox/pith.yaml': 'default_agent: reader\nskills: { sources: { replace: [sandbox/skills, sandbox/team] } }\n',
    'sandbox/agents/reader/manifest.yaml':
      'id: reader\nagent: { model: scripted/scripted, uses_tools: [skill_registry, core_tools, project_tools] }\n',
    'sandbox/skills/letters/SKILL.md': letters('AHOY'),
    'sandbox/skills/letters/references/forms.md': 'forms',
    'sandbox/skills/letters/evals/evals.yaml': `triggers: [{ text: ${HELD_OUT}, should: load, split: held_out }]\n`,
    'sandbox/skills/group/nested/SKILL.md': letters('AHOY'),
    'sandbox/skills/group/nested/evals/evals.yaml': `triggers: [{ text: ${HELD_OUT}, should: load }]\n`,
    'sandbox/team/theirs/SKILL.md': letters('AHOY'),
    'sandbox/team/theirs/evals/evals.yaml': `triggers: [{ text: ${HELD_OUT}, should: load }]\n`,
    'sandbox/skills/letters/eval_queries.json': JSON.stringify([{ query: HELD_OUT, should_trigger: true }]),
  });
  const model = scriptedModel([], { contextWindow: null });
  const pith = await kernelOf({ sandbox: `${folder}/sandbox`, model, isolation: 'in_process' });
  const calls: readonly (readonly [string, Record<string, string>])[] = [
    ['read_skill', { skill_id: 'letters' }],
    ['read_skill_resource', { skill_id: 'letters', path: 'evals/evals.yaml' }],
    ['read_skill_resource', { skill_id: 'letters', path: 'eval_queries.json' }],
    ['file', { action: 'read', path: 'skills/letters/evals/evals.yaml' }],
    ['file', { action: 'read', path: 'skills/group/nested/evals/evals.yaml' }],
    ['file', { action: 'read', path: 'team/theirs/evals/evals.yaml' }],
    ['file', { action: 'list', path: 'skills/letters' }],
    ['file', { action: 'list', path: 'skills/letters/evals' }],
    ['read_file', { path: 'sandbox/skills/letters/evals/evals.yaml' }],
    ['read_file', { path: 'sandbox/skills/letters/eval_queries.json' }],
    ['read_file', { path: 'sandbox/skills/group/nested/evals/evals.yaml' }],
    ['read_file', { path: 'sandbox/team/theirs/evals/evals.yaml' }],
    ['list_files', { pattern: '**/*.yaml' }],
    ['search_files', { pattern: 'nobody may see' }],
  ];
  model.add({ calls: calls.map(([name, input]) => ({ name, input })) }, { text: 'done' });
  const { results } = await pith.run('look around', { threadId: 't' });
  expect(results.map(({ name }) => name).sort()).toEqual(calls.map(([name]) => name).sort());
  const told = JSON.stringify(results);
  expect(told).toContain('forms.md');
  expect(told).not.toContain(HELD_OUT);
  expect(told).not.toMatch(/evals\/evals\.yaml(?!' is among the cases)/);
  expect(
    results
      .filter(({ ok }) => !ok)
      .map(({ name }) => name)
      .sort(),
  ).toEqual([...Array<string>(4).fill('file'), ...Array<string>(4).fill('read_file'), 'read_skill_resource', 'read_skill_resource']);
});
