import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, manifestSchema } from '../../../core/trust/index.ts';
import { agentSpecOf, KERNEL_AGENT_KEYS } from '../../../core/kernel/discovery/agent-spec.ts';
import { knownKeys } from '../../../core/kernel/discovery/schema-issues.ts';
import { discoverIn, extension, folderWith } from './sandbox-folder.ts';

const AROUND = { ...extension('core_tools'), ...extension('registry', 'agent_keys: [skills]\n') };

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
      limits: { ...DEFAULT_LIMITS, max_turns: 3 },
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
      limits: DEFAULT_LIMITS,
      keys: { skills: { mode: 'none' } },
    });
  });

  it('K40 what nothing owns or declares is left out of the defaults', async () => {
    const spec = await specOf('---\nname: R\nallow_skills: true\n---\n', {});
    expect(spec).toMatchObject({ keys: {}, usesTools: [] });
  });

  it('K40 S65 allow_skills changes nothing in uses_tools: the way to meet skills brings its own tools', async () => {
    const reader = 'id: registry\nentrypoint: main.ts\nprovides: [tool, skill]\nagent_keys: [skills]\n';
    const around = { ...extension('core_tools'), ...extension('registry'), 'extensions/registry/manifest.yaml': reader };
    const tools = async (more: string) => (await specOf(`---\nname: R\n${more}---\n`, around)).usesTools;
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
    const sandbox = folderWith({ ...AROUND, 'agents/reviewer/AGENT.md': `---\nname: R\n${slip}\n---\n` });
    const { failures, declarations } = await discoverIn(sandbox);
    expect(failures.size).toBe(0);
    const { diagnostics, file } = declarations.get('reviewer')!;
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
      const sandbox = folderWith({ ...AROUND, 'agents/reviewer/AGENT.md': text });
      const { failures, order } = await discoverIn(sandbox);
      expect(failures.get('reviewer')).toMatchObject({ code, line, file: path.join(sandbox, 'agents/reviewer/AGENT.md') });
      expect(failures.get('reviewer')!.message).toMatch(message);
      expect(order).toEqual(['core_tools', 'registry']);
    });
  }
});

describe('agents of manifests', () => {
  it('K40 come from sandbox/agents and from extensions with an agent section, as the same frozen value', async () => {
    const sandbox = folderWith({
      ...extension('registry', 'agent_keys: [skills]\n'),
      ...extension('helper', 'description: Helps\nagent: { instructions: Help. }\n'),
      'agents/writer/manifest.yaml':
        'id: writer\nname: Writer\nagent:\n  description: Writes\n  model: fast\n  integration_mode: tool\n  delegates_to: [helper]\n  skills: { mode: catalog, allow: ["*"] }\n',
      'agents/writer/prompt.j2': 'You are {{ agent.name }}.',
    });
    const { declarations } = await discoverIn(sandbox);
    expect(agentSpecOf(declarations.get('helper')!)).toMatchObject({
      id: 'helper',
      name: 'helper',
      description: 'Helps',
      instructions: 'Help.',
      prompt: null,
      keys: {},
    });
    const writer = agentSpecOf(declarations.get('writer')!);
    expect(writer).toEqual({
      id: 'writer',
      name: 'Writer',
      description: 'Writes',
      model: 'fast',
      integrationMode: 'tool',
      instructions: '',
      prompt: 'You are {{ agent.name }}.',
      promptFile: path.join(sandbox, 'agents/writer/prompt.j2'),
      usesTools: [],
      usesSkills: [],
      delegatesTo: ['helper'],
      limits: DEFAULT_LIMITS,
      keys: { skills: { mode: 'catalog', allow: ['*'] } },
      origin: path.join(sandbox, 'agents/writer/manifest.yaml'),
    });
    expect(Object.isFrozen((writer.keys['skills'] as { allow: string[] }).allow)).toBe(true);
    expect(agentSpecOf(declarations.get('writer')!)).toBe(writer);
    expect(structuredClone(writer)).toEqual(writer);
    expect(() => agentSpecOf(declarations.get('registry')!)).toThrow(/declares no agent/);
  });

  it('N1 K40 a key that such files have elsewhere is a warning, another near a safeguard counts as that', async () => {
    const read = async (more: string) => {
      const text = `---\nname: One\n${more}---\nYou help.\n`;
      return (await discoverIn(folderWith({ ...AROUND, 'agents/one/AGENT.md': text }))).declarations.get('one')!;
    };
    const pickle = await read('temperature: 0.7\nmax_tokens: 4096\nllm: { provider: openai }\n');
    expect(agentSpecOf(pickle)).toMatchObject({ id: 'one', instructions: 'You help.' });
    expect(pickle.diagnostics.map(({ severity, line, message }) => `${severity} ${line} ${message}`)).toEqual([
      "warning 3 'temperature' has no effect here",
      "warning 4 'max_tokens' has no effect here",
      "warning 5 'llm' has no effect here",
    ]);
    expect((await read('uses_tolls: []\n')).diagnostics).toMatchObject([
      { severity: 'warning', message: "'uses_tolls' must be written 'uses_tools'; it counts as that" },
    ]);
  });

  it('K40 the keys that the kernel knows are those of the schema', () => {
    expect(knownKeys(manifestSchema(), ['agent'])).toEqual(KERNEL_AGENT_KEYS);
  });

  for (const name of ['prompt.jinja2', 'prompt.j2', 'prompt.njk']) {
    it(`K41 takes ${name} as the prompt, and says when another one is not read`, async () => {
      const sandbox = folderWith({
        'agents/one/manifest.yaml': 'id: one\nagent: {}\n',
        [`agents/one/${name}`]: 'Text',
        'agents/one/prompt.txt': 'no',
      });
      const { declarations } = await discoverIn(sandbox);
      expect(declarations.get('one')!.prompt).toEqual({ file: path.join(sandbox, 'agents/one', name), text: 'Text' });
      const both = folderWith({
        'agents/one/manifest.yaml': 'id: one\nagent: {}\n',
        'agents/one/prompt.jinja2': 'A',
        'agents/one/prompt.njk': 'B',
      });
      expect((await discoverIn(both)).declarations.get('one')!).toMatchObject({
        prompt: { text: 'A' },
        diagnostics: [{ severity: 'warning', file: path.join(both, 'agents/one/prompt.njk') }],
      });
    });
  }
});

async function specOf(text: string, around: Record<string, string> = AROUND) {
  const { declarations } = await discoverIn(folderWith({ ...around, 'agents/reviewer/AGENT.md': text }));
  const declaration = declarations.get('reviewer')!;
  expect(declaration.diagnostics).toEqual([]);
  return agentSpecOf(declaration);
}
