import { scriptedModel, testKernel } from 'pith/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

/** What the default agent's model is sent: its tools, and the system text. */
async function sent(settings: string, files: Readonly<Record<string, string>> = {}) {
  const model = scriptedModel([{ text: 'ok' }]);
  const pith = await testKernel({
    model,
    files: { 'pith.yaml': `default_agent: orchestrator\nmodels: { default: scripted/scripted }\n${settings}`, ...files },
  });
  onTestFinished(() => pith.stop());
  const { requests, events } = await pith.run('hello', { threadId: 't' });
  const [{ tools, system }] = requests as [(typeof requests)[number]];
  const notices = events.flatMap((event) => (event.type === 'notice' ? event.message : []));
  return { tools: tools.map(({ name }) => name), characters: JSON.stringify(tools).length, system, notices };
}

const TOOL =
  /\b(?:list_skills|read_skill|read_skill_resource|run_skill_script|builder_agent|submit_task|delegate_task|list_agents|schedule_(?:once|recurring))\b/g;
const namedIn = (system: string) => [...new Set(system.match(TOOL))];

const OWN = {
  'extensions/my_dice/manifest.yaml': 'id: my_dice\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [tool]\n',
  'extensions/my_dice/main.ts': `import { defineTool, z } from 'pith';
export default class { getTools() { return [defineTool({ name: 'roll', description: 'Rolls.', input: z.object({}), execute: () => 4 })]; } }
`,
};

describe('the default agent', () => {
  it('sends at most 14,500 characters of tool schemas, and its prompt names only tools that it has', async () => {
    const { tools, characters, system, notices } = await sent('');
    expect(characters).toBeLessThanOrEqual(14_500);
    expect(tools).toContain('read_skill');
    expect(tools).not.toContain('stage_extension');
    expect(namedIn(system)).toContain('read_skill');
    for (const name of namedIn(system)) expect(tools).toContain(name);
    expect(notices).toEqual([]);
  });

  it('is not told to use skills where they are switched off', async () => {
    const { tools, system, notices } = await sent('skills: { enabled: false }\n');
    expect(notices).toEqual([]);
    expect(tools).not.toContain('read_skill');
    for (const name of namedIn(system)) expect(tools).toContain(name);
    expect(system).not.toContain('skill, which');
  });

  it.each(['skill_registry', 'delegation', 'task_engine', 'scheduler', 'kv', 'mcp', 'core_tools', 'extension_builder'])(
    'works without %s',
    async (id) => {
      const { tools, system } = await sent(`extensions: { ${id}: { enabled: false } }\n`);
      for (const name of namedIn(system)) expect(tools).toContain(name);
    },
  );

  it('has the tools of every extension that does not ship, by the entry sandbox', async () => {
    expect((await sent('', OWN)).tools).toContain('roll');
    const other = {
      ...OWN,
      'agents/plain/manifest.yaml': 'id: plain\nagent: { model: default, uses_tools: [kv] }\n',
      'agents/open/manifest.yaml': 'id: open\nagent: { model: default, uses_tools: [sandbox] }\n',
    };
    expect((await sent('', { ...other, 'pith.yaml': SETTINGS('plain') })).tools).not.toContain('roll');
    expect((await sent('', { ...other, 'pith.yaml': SETTINGS('open') })).tools).toEqual(['roll']);
  });

  it('no extension is called sandbox', async () => {
    const pith = await testKernel({
      model: scriptedModel([]),
      files: { 'extensions/sandbox/manifest.yaml': 'id: sandbox\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [tool]\n' },
    });
    onTestFinished(() => pith.stop());
    expect(JSON.stringify(await pith.kernel.doctor())).toContain('sandbox');
  });
});

const SETTINGS = (agent: string) => `default_agent: ${agent}\nmodels: { default: scripted/scripted }\n`;
