import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createPith, type PithOptions } from 'pith/embed';
import { scriptedModel, type ScriptedStep } from 'pith/testing';
import { z } from 'zod';
import { folderWith } from '../../places.ts';
import { skillText } from '../../extensions/skill_registry/skill-sandbox.ts';

async function pithWith(script: readonly ScriptedStep[], options: PithOptions = {}) {
  const model = scriptedModel(script);
  const pith = await createPith({ model: model.model, ...options });
  onTestFinished(() => pith.close());
  return { pith, model };
}

it('U40 answers with a skill of a folder', async () => {
  const folder = folderWith({ 'letters/SKILL.md': skillText({ name: 'letters', description: 'Writes letters. Use for letters.', body: 'Say ahoy.' }) });
  const { pith, model } = await pithWith([{ calls: [{ name: 'read_skill', input: { skill_id: 'letters' } }] }, { text: 'Ahoy!' }], { skills: [folder] });
  const run = pith.run('write a letter');
  const types: string[] = [];
  for await (const event of run) types.push(event.type);
  expect(await run.result).toMatchObject({ status: 'done', text: 'Ahoy!', questions: [] });
  expect(types).toContain('tool-result');
  expect(JSON.stringify(model.requests[0])).toContain('`letters`');
  expect(JSON.stringify(model.requests[1])).toContain('Say ahoy.');
  expect(await pith.skills()).toMatchObject([{ id: 'letters', state: 'offered' }]);
  expect(path.isAbsolute(folder)).toBe(true);
});
