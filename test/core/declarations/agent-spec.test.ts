import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, manifestSchema } from '../../../core/trust/index.ts';
import { agentSpecOf, KERNEL_AGENT_KEYS } from '../../../core/declarations/index.ts';
import { knownKeys } from '@pith/checked-yaml';
import { folderWith } from '../../places.ts';
import { discoverIn, extension } from './sandbox-folder.ts';

describe('agents of manifests', () => {
  it('K40 come from sandbox/agents and from extensions with an agent section, as the same frozen value', async () => {
    const sandbox = folderWith({
      ...extension('registry', 'agent_keys: [skills]\n'),
      ...extension('helper', 'description: Helps\nagent: { instructions: Help. }\n'),
      'agents/writer/manifest.yaml':
        'id: writer\nname: Writer\nagent:\n  description: Writes\n  model: fast\n  effort: off\n  integration_mode: tool\n  delegates_to: [helper]\n  skills: { mode: catalog, allow: ["*"] }\n',
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
      effort: 'off',
      integrationMode: 'tool',
      instructions: '',
      prompt: 'You are {{ agent.name }}.',
      promptFile: path.join(sandbox, 'agents/writer/prompt.j2'),
      usesTools: [],
      findsTools: [],
      usesSkills: [],
      delegatesTo: ['helper'],
      limits: DEFAULT_LIMITS,
      keys: { skills: { mode: 'catalog', allow: ['*'] } },
      origin: path.join(sandbox, 'agents/writer/manifest.yaml'),
    });
    expect(Object.isFrozen((writer.keys['skills'] as { allow: string[] }).allow)).toBe(true);
    expect(structuredClone(writer)).toEqual(writer);
    expect(() => agentSpecOf(declarations.get('registry')!)).toThrow(/declares no agent/);
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
