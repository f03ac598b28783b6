import type { JsonValue } from 'pith';
import type { ScriptedStep } from 'pith/testing';
import { expect, it } from 'vitest';
import { agent, call, lastResult, LEARNS, skillKernel, skill, type SkillKernel } from './skill-kernel.ts';

const HIDDEN = Array.from({ length: 45 }, (_, at) => `zebra-${String(at).padStart(2, '0')}`);
const OWN = ['heron-1', 'heron-2', 'heron-3', 'heron-4', 'heron-5'];
const ASK = 'Please catalogue the quagga stripes of the herd';
const STRIPES = 'quagga';

/** Whatever says something of a hidden skill says one of these. */
const MARKS = /zebra|quagga|savanna/i;

/** A skill that is told of by its name, description, tags, triggers, body, files, scripts and toolset. */
const hidden = (id: string) => ({
  ...skill(id, {
    name: `The ${id.toUpperCase()} of the savanna`,
    description: `Catalogues ${STRIPES} stripes in the savanna, as ${id}.`,
    more: `tags: [savanna]\nexamples: [${ASK}]\ntriggers: { keywords: [${STRIPES}, herd] }\nscripts: [scripts/run.sh]\ntoolsets: [toolsets/own.ts]\n`,
    body: `# Savanna\nBODY-OF-${id} See [the guide](references/guide.md).\n`,
  }),
  [`skills/${id}/references/guide.md`]: `SAVANNA-GUIDE-OF-${id}`,
  [`skills/${id}/scripts/run.sh`]: `echo savanna ${id}`,
});

const TOOLS =
  'uses_tools: [skill_registry, skill_registry/run_skill, skill_registry/copy_skill_file, skill_scripts/run_skill_script, delegation, task_engine, scheduler]';
const five = (mode: string, more = '') => `skills: { mode: ${mode}, allow: ["heron-*"]${more} }`;
const AGENTS = {
  catalog: five('catalog'),
  small: five('catalog', ', budget_tokens: 100, pinned: [heron-1, zebra-07]'),
  tool: five('single_tool'),
  triggered: five('triggers'),
  none: five('none'),
  denying: 'skills: { deny: ["zebra-*"] }',
  declared: 'skills: { scope: declared, allow: ["*", heron-1, heron-2, heron-3], pinned: [heron-4, heron-5] }',
};

/** Every way to name one of the hidden skills that is asked for, and some that are nearly one. */
const NAMES = ['zebra-00', 'sandbox/skills/zebra-00', 'The ZEBRA-00 of the savanna', 'zebra-0', 'zebra'];

/** Each door, tried with names of hidden skills. */
function doors(): readonly ScriptedStep[] {
  const each = (name: string, input: (skill: string) => JsonValue) => NAMES.map((one) => ({ name, input: input(one) }));
  return [
    {
      calls: [
        { name: 'list_skills', input: { query: ASK, limit: 50 } },
        { name: 'list_skills', input: { query: 'zebra-00', limit: 50 } },
        { name: 'list_skills', input: { limit: 50 } },
        { name: 'list_skills', input: { limit: 50, offset: 4 } },
        ...each('read_skill', (skill_id) => ({ skill_id })),
        ...each('read_skill_resource', (skill_id) => ({ skill_id, path: 'references/guide.md' })),
        { name: 'read_skill_resource', input: { skill_id: 'heron-1', path: '../zebra-00/SKILL.md' } },
        ...each('skill', (skill_name) => ({ skill_name })),
      ],
    },
    {
      calls: [
        ...each('copy_skill_file', (skill_id) => ({ skill_id, path: 'references/guide.md', to: 'drafts/guide.md' })),
        { name: 'copy_skill_file', input: { skill_id: 'heron-1', path: '../zebra-00/SKILL.md', to: 'drafts/other.md' } },
        ...each('run_skill', (skill_id) => ({ skill_id, task: 'Go.' })),
        ...each('run_skill_script', (skill_id) => ({ skill_id, script: 'scripts/run.sh' })),
        ...NAMES.map((one) => ({ name: 'create_agent', input: { name: 'Taker', instructions: 'x', uses_skills: [one] } })),
        { name: 'create_agent', input: { name: 'Wider', instructions: 'x', skills: { allow: ['*'] } } },
      ],
    },
  ];
}

/** What the models were sent since `from`, without the words that they or the person said themselves. */
function sent({ model }: SkillKernel, from: number): string {
  const texts = model.requests.slice(from).map(({ system, messages, tools }) => {
    const told = messages.flatMap((message) => {
      if (message.role === 'tool') return message.content.map((part) => JSON.stringify(part.type === 'tool-result' ? part.output : part));
      if (message.role !== 'user') return [];
      return message.content.slice(0, -1).map((part) => JSON.stringify(part)); // the person's own text stands last
    });
    return [system, JSON.stringify(tools), ...told].join('\n');
  });
  // What was not found is repeated: that says no more than was asked.
  return [...NAMES]
    .sort((a, b) => b.length - a.length)
    .reduce((text, name) => text.replaceAll(`'${name}'`, '').replaceAll(`\\"${name}\\"`, ''), texts.join('\n'))
    .replaceAll(ASK, '')
    .replaceAll('../zebra-00/SKILL.md', '');
}

async function world(): Promise<SkillKernel> {
  const files = [...HIDDEN.map(hidden), ...OWN.map((id) => skill(id, { more: 'triggers: { keywords: [fish] }\n' }))];
  const agents = Object.entries(AGENTS).map(([id, skills]) => agent(id, TOOLS, skills));
  return skillKernel(Object.assign({}, LEARNS, ...files, ...agents, agent('open', TOOLS)) as Record<string, string>, { only: undefined });
}

/** The rest has the same scope by other words. */
const MAKERS: ReadonlySet<string> = new Set(['catalog', 'tool', 'triggered', 'none']);

/** The agent `id` makes one of its own, which tries each door too. */
async function makes({ model, turn }: SkillKernel, id: string): Promise<void> {
  const made = (request: { readonly messages: readonly unknown[] }) => /made_taker_[0-9a-f]{8}/.exec(JSON.stringify(request.messages))![0];
  const from = model.requests.length;
  await turn(
    id,
    'Sort the okapi photographs by shoulder height',
    call('list_skills', { query: 'okapi photographs by shoulder height' }),
    call('create_agent', { name: 'Taker', instructions: 'TAKER', uses_tools: ['*'] }),
    (request) => call('delegate_task', { agent_id: made(request), task: ASK }) as object,
    ...doors(),
    { text: 'nothing' },
  );
  expect(model.requests.slice(from).some(({ system }) => system.includes('TAKER'))).toBe(true);
}

it('R12 S31 K43 an agent scoped to five of fifty skills never sees a sixth: by no mode, tool or search, nor through what it makes', async () => {
  const kernel = await world();
  const { model, turn } = kernel;
  // Somebody else's words have taught the search of a hidden skill.
  await turn('open', 'Sort the okapi photographs by shoulder height', call('read_skill', { skill_id: 'zebra-01' }));
  expect(JSON.stringify(model.requests)).toMatch(MARKS);
  for (const id of Object.keys(AGENTS)) {
    const from = model.requests.length;
    await turn(id, ASK, ...doors());
    if (MAKERS.has(id)) await makes(kernel, id);
    if (id === 'triggered') await turn(id, 'Which fish do herons eat?');
    const text = sent(kernel, from);
    expect(text.split('\n').filter((line) => MARKS.test(line))).toEqual([]);
    expect(/(\d+) more: search/.exec(text)?.[1] ?? '0').toMatch(/^[0-5]$/);
    // Its own five it does see, where its mode shows any.
    const own = OWN.slice(1).filter((one) => text.includes(one)); // the first was asked for

    expect(own.length, id).toBe(id === 'none' ? 0 : 4);
  }
  expect(lastResult(await turn('open', 'Which?', call('list_skills', { query: 'okapi photographs' })))).toContain('zebra-01');
});
