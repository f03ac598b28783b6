import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readAgentFile } from '../../../sandbox/extensions/agent_files/agent-file.ts';
import { folderWith } from '../../places.ts';

const read = (text: string, tools = ['core_tools']) =>
  readAgentFile(path.join(folderWith({ 'agents/reviewer/AGENT.md': text }), 'agents/reviewer/AGENT.md'), tools);

describe('AGENT.md', () => {
  it('K40 gives an agent: frontmatter, then the instructions', async () => {
    const spec = await specOf(`---
name: Code Reviewer
description: Reviews code
provider: openai
model: gpt-x
allow_skills: true
uses_tools: [core_tools, registry/read]
uses_skills: [code-review]
limits: { max_turns: 3 }
---

# Role

You review. --- is not an end.
`);
    expect(spec).toMatchObject({
      id: 'reviewer',
      name: 'Code Reviewer',
      description: 'Reviews code',
      model: 'openai/gpt-x',
      integrationMode: 'none',
      instructions: '# Role\n\nYou review. --- is not an end.',
      prompt: null,
      usesTools: ['core_tools', 'registry/read'],
      usesSkills: ['code-review'],
      delegatesTo: [],
      limits: { max_turns: 3 },
      keys: { skills: { mode: 'single_tool' } },
    });
    expect(spec.origin).toMatch(/agents\/reviewer\/AGENT\.md$/);
  });

  it('K40 the defaults: no skills, the core tools, the default model, all limits', async () => {
    const spec = await specOf('---\r\nname: R\r\n---\r\nBe brief.\r\n');
    expect(spec).toMatchObject({
      instructions: 'Be brief.',
      model: 'default',
      usesTools: ['core_tools'],
      limits: {},
      keys: { skills: { mode: 'none' } },
    });
  });

  it('K40 S65 allow_skills changes nothing in uses_tools: the way to meet skills brings its own tools', async () => {
    const tools = async (more: string) => (await specOf(`---\nname: R\n${more}---\n`)).usesTools;
    expect(await tools('allow_skills: true\n')).toEqual(['core_tools']);
    expect(await tools('allow_skills: true\nuses_tools: [registry]\n')).toEqual(['registry']);
    expect(await tools('allow_skills: true\nuses_tools: []\n')).toEqual([]);
    expect(await tools('')).toEqual(['core_tools']);
    expect(await tools('uses_tools: []\n')).toEqual([]);
  });

  it('K40 a model may stand alone or name its provider already', async () => {
    expect((await specOf('---\nname: R\nmodel: fast\n---\n')).model).toBe('fast');
    expect((await specOf('---\nname: R\nprovider: openai\nmodel: openai/gpt-x\n---\n')).model).toBe('openai/gpt-x');
    expect((await specOf('---\nname: R\nprovider: router\nmodel: openai/gpt-x\n---\n')).model).toBe('router/openai/gpt-x');
  });

  it.each([
    ['an unknown key', 'allow_skill: true', /^unknown key 'allow_skill' is ignored \(did you mean 'allow_skills'/],
    ['a bad value', 'allow_skills: sometimes', /^'allow_skills' must be true or false, not 'sometimes'/],
  ])('use.md 3: %s is ignored with its default kept, and reported with file and line', async (_, slip, message) => {
    const { spec, diagnostics, file } = await read(`---\nname: R\n${slip}\n---\n`);
    expect(spec).not.toBeNull();
    expect(diagnostics).toMatchObject([{ severity: 'warning', file, line: 3, message: expect.stringMatching(message) }]);
  });

  for (const [name, text, line, code, message] of [
    ['unknown limit', '---\nname: R\nlimits:\n  colour: 3\n---\n', 4, 'unknown_key', /unknown key 'colour'/],
    ['no name', '---\ndescription: x\n---\n', 2, 'manifest_invalid', /'name' is missing/],
    ['no frontmatter', 'You are an agent.\n', 1, 'manifest_invalid', /no frontmatter/],
    ['no end', '---\nname: R\n', 1, 'manifest_invalid', /no frontmatter/],
    ['provider alone', '---\nname: R\nprovider: openai\n---\n', 3, 'manifest_invalid', /'provider' needs a model/],
    ['duplicate key', '---\nname: R\nname: S\n---\n', 3, 'manifest_invalid', /twice/],
    ['long frontmatter', `---\nname: R\ndescription: ${'x'.repeat(17_000)}\n---\n`, 2, 'manifest_invalid', /bytes/],
  ] as const) {
    it(`K40 ${name}: that agent fails with file and line`, async () => {
      const { spec, diagnostics, file } = await read(text);
      expect(spec).toBeNull();
      expect(diagnostics).toContainEqual(
        expect.objectContaining({ severity: 'error', code, line, file, message: expect.stringMatching(message) }),
      );
    });
  }

  it('N1 K40 a key that such files have elsewhere is a warning, another near a safeguard counts as that', async () => {
    const found = (more: string) => read(`---\nname: One\n${more}---\nYou help.\n`);
    const pickle = await found('temperature: 0.7\nmax_tokens: 4096\nllm: { provider: openai }\n');
    expect(pickle.spec).toMatchObject({ id: 'reviewer', instructions: 'You help.' });
    expect(pickle.diagnostics.map(({ severity, line, message }) => `${severity} ${line} ${message}`)).toEqual([
      "warning 3 'temperature' has no effect here",
      "warning 4 'max_tokens' has no effect here",
      "warning 5 'llm' has no effect here",
    ]);
    expect((await found('uses_tolls: []\n')).diagnostics).toMatchObject([
      { severity: 'warning', message: "'uses_tolls' must be written 'uses_tools'; it counts as that" },
    ]);
  });
});

async function specOf(text: string) {
  const { spec, diagnostics } = await read(text);
  expect(diagnostics).toEqual([]);
  return spec!;
}
