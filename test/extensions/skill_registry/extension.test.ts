import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { BroughtProvider, CommandProvider, type ContextParts, ContextProvider, ServiceProvider, SkillProvider, ToolProvider } from 'pith';
import { manifestSchema } from '../../../core/trust/index.ts';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import SkillRegistryExtension from '../../../sandbox/extensions/skill_registry/main.ts';
import { commandPaths, registryExtension, type RegistryExtension } from './registry-extension.ts';
import { skillText } from './skill-sandbox.ts';
import { skillsChanged } from '../../../sandbox/extensions/skill_registry/contract.ts';
import { agentOf, callOf, turnOf } from './skill-values.ts';

const skill = (id: string, values: Parameters<typeof skillText>[0] = {}) => ({
  [`sandbox/skills/${id}/SKILL.md`]: skillText({ name: id, description: `Knows all about ${id}.`, ...values }),
});
const crowd = (count: number): Record<string, string> =>
  Object.assign(
    {},
    ...Array.from({ length: count }, (_, at) =>
      skill(`topic-${String(at).padStart(3, '0')}`, {
        description: `Explains subject number ${at} at some length, with examples and hints for people.`,
      }),
    ),
  ) as Record<string, string>;

async function contextOf(pith: RegistryExtension, turn: Parameters<typeof turnOf>[0] = {}): Promise<ContextParts | null> {
  return pith.extension.getContext('ignored', turnOf(turn));
}

/** A search waits for the index, for longer than a turn does. */
const indexed = (pith: RegistryExtension) => pith.read('list_skills', { query: 'anything' }, callOf());

const ended = (turnId: string) =>
  ({ turnId, threadId: 'thread-1', reason: 'done', usage: { inputTokens: 0, outputTokens: 0 }, correlationId: 'c' }) as const;

describe('the extension', () => {
  it('S20 implements the protocols that its manifest declares, the context at 60', async () => {
    const pith = await registryExtension({});
    for (const protocol of [ToolProvider, ContextProvider, ServiceProvider, SkillProvider, CommandProvider, BroughtProvider])
      expect(protocol.missing(pith.extension)).toEqual([]);
    expect(pith.extension.contextPriority).toBe(60);
    const manifest = manifestSchema().parse(parse(await readFile(path.resolve('sandbox/extensions/skill_registry/manifest.yaml'), 'utf8')));
    expect(manifest.provides).toEqual(['tool', 'context', 'service', 'skill', 'command', 'brought']);
    expect(manifest.agent_keys).toEqual(Object.keys(SkillRegistryExtension.agentKeys));
    expect(Object.keys(manifest.defines.topics)).toEqual(['skills.changed', 'skill.used', 'toolset.loaded']);
    expect(commandPaths(await pith.extension.getCommands()).every((command) => command.startsWith('skills '))).toBe(true);
  });

  it('S20 checks its settings and the agent key strictly', () => {
    expect(SkillRegistryExtension.config.safeParse({}).data).toMatchObject({
      enabled: true,
      poll_seconds: 5,
      max_skills: 3,
      scripts: { timeout_s: 60, max_args: 100 },
    });
    expect(SkillRegistryExtension.config.safeParse({ pol_seconds: 3 }).success).toBe(false);
    expect(SkillRegistryExtension.agentKeys.skills.safeParse({ budget: 3 }).success).toBe(false);
  });

  it('S25 gives exactly the three read tools, each with effect read', async () => {
    const tools = (await registryExtension({})).extension.getTools();
    expect(tools.filter((tool) => !tool.optIn).map((tool) => [tool.name, tool.effect])).toEqual([
      ['list_skills', 'read'],
      ['read_skill', 'read'],
      ['read_skill_resource', 'read'],
    ]);
  });

  it('S15 has neither tools nor catalog when skills are off, and says so to who binds them', async () => {
    const pith = await registryExtension(skill('alpha'), { enabled: false });
    expect(pith.extension.getTools()).toEqual([]);
    expect(await contextOf(pith)).toBeNull();
    await expect(pith.extension.getSkillContent('alpha')).rejects.toMatchObject({ code: 'skills_disabled' });
  });
});

describe('the catalog of a turn', () => {
  it('S60 S24 is a system part alone where all skills fit', async () => {
    const pith = await registryExtension({ ...skill('beta'), ...skill('alpha') });
    expect(await contextOf(pith, { userTexts: ['alpha'] })).toEqual({
      system: [
        '[Available Skills]',
        '• `alpha` — Knows all about alpha.',
        '• `beta` — Knows all about beta.',
        'Use read_skill(skill_id) to load full instructions.',
      ].join('\n'),
    });
  });

  it('S31 is for those who hold read_skill, and absent where there is nothing to offer', async () => {
    const pith = await registryExtension(skill('alpha'));
    expect(await contextOf(pith, { tools: ['skill_registry/list_skills'] })).toBeNull();
    expect(await contextOf(pith, { agent: agentOf({ usesSkills: ['alpha'] }) })).toBeNull();
    expect(await contextOf(pith, { agent: agentOf({ keys: { skills: { mode: 'none' } } }) })).toBeNull();
    expect(await contextOf(await registryExtension({}))).toBeNull();
  });

  it('S32 R10 follows the model’s window and the agent’s own budget', async () => {
    const pith = await registryExtension(crowd(120));
    const tokens = async (turn: Parameters<typeof turnOf>[0]) => countTokens((await contextOf(pith, turn))!.system!);
    const wide = await tokens({ id: 'a' });
    const narrow = await tokens({ id: 'b', model: { ref: 'm/m', contextWindow: 8000 } });
    const own = await tokens({ id: 'c', agent: agentOf({ keys: { skills: { budget_tokens: 5000 } } }) });
    expect(narrow).toBeLessThanOrEqual(600);
    expect(wide).toBeLessThanOrEqual(2000);
    expect(own).toBeGreaterThan(wide);
  });

  it('S24 R12 has the same system bytes whatever the message, in later turns and after a restart', async () => {
    const files = crowd(150);
    const pith = await registryExtension(files);
    await indexed(pith);
    const first = await contextOf(pith, { id: 'a', userTexts: ['subject number 7'] });
    const second = await contextOf(pith, { id: 'b', userTexts: ['hints for subject 99'] });
    const restarted = await contextOf(await registryExtension(files), { userTexts: ['anything'] });
    expect(second!.system).toBe(first!.system);
    expect(restarted!.system).toBe(first!.system);
    expect(first!.turn).toContain('`topic-007`');
    expect(second!.turn).toContain('`topic-099`');
    expect(countTokens(first!.turn!)).toBeLessThanOrEqual(400);
    expect(first!.system).toMatch(/\n150 more — search with list_skills\(query\)$/);
  });

  it('R13 ranks by the user’s last texts, the newest first, and shows what the thread has loaded', async () => {
    const pith = await registryExtension({
      ...crowd(150),
      ...skill('soup', { description: 'Cooks broth.' }),
      ...skill('maps', { description: 'Draws cartography.' }),
    });
    await indexed(pith);
    const followed = await contextOf(pith, { id: 'a', userTexts: ['draw some cartography', 'cook me a broth'] });
    expect(followed!.turn).toMatch(/`soup`[^]*`maps`/);
    const vague = await contextOf(pith, { id: 'b', userTexts: ['draw some cartography', 'and page three?'] });
    expect(vague!.turn).toContain('`maps`');
    await pith.read('read_skill', { skill_id: 'topic-042' }, callOf());
    const later = await contextOf(pith, { id: 'c', userTexts: ['cook me a broth'] });
    expect(later!.turn).toContain('Loaded before: `topic-042`');
    expect((await contextOf(pith, { id: 'd', threadId: 'other', userTexts: ['cook me a broth'] }))!.turn).not.toContain('topic-042');
  });

  it('S31 keeps what an agent may not see out of the part for its message', async () => {
    const pith = await registryExtension({ ...crowd(150), ...skill('soup', { description: 'Cooks broth.' }) });
    await indexed(pith);
    const parts = await contextOf(pith, { agent: agentOf({ keys: { skills: { deny: ['soup'] } } }), userTexts: ['broth'] });
    expect(JSON.stringify(parts)).not.toContain('soup');
  });

  it('S24 costs an unchanged turn a look-up: the very same string', async () => {
    const pith = await registryExtension(crowd(50));
    const [first, second] = [await contextOf(pith, { id: 'a' }), await contextOf(pith, { id: 'b' })];
    expect(Object.is(first!.system, second!.system)).toBe(true);
  });
});

describe('changes', () => {
  it('S22 S23 are seen by the next turn, not by the one that has begun, and bodies are read live', async () => {
    let now = 1_000_000;
    const clock = { now: () => now, sleep: () => Promise.resolve(), after: () => () => undefined };
    const pith = await registryExtension(skill('alpha', { body: 'Old body.\n' }), {}, clock);
    const listed = (id: string) => pith.read('list_skills', {}, callOf({ id }));
    await contextOf(pith, { id: 'turn-a' });
    expect(await listed('turn-a')).toContain('of 1, by id');
    await pith.write('sandbox/skills/beta/SKILL.md', skillText({ name: 'beta' }));
    await pith.write('sandbox/skills/alpha/SKILL.md', skillText({ name: 'alpha', description: 'Another thing.', body: 'New body.\n' }));
    now += 251;
    expect(await listed('turn-b')).toContain('of 2, by id');
    expect(await listed('turn-a')).toContain('of 1, by id');
    expect(await pith.read('read_skill', { skill_id: 'alpha' }, callOf({ id: 'turn-a' }))).toContain('New body.');
    expect(await pith.call('read_skill', { skill_id: 'beta' }, callOf({ id: 'turn-a' }))).toMatchObject({
      ok: false,
      error: { code: 'skill_not_found' },
    });
    expect(pith.published).toEqual([
      { topic: skillsChanged, payload: { added: ['beta'], changed: ['alpha'], removed: [] } },
      { topic: 'provider.changed', payload: { extensionId: 'skill_registry', protocol: 'skill' } },
    ]);
    pith.emit('turn.ended', ended('turn-a'));
    expect(await listed('turn-a')).toContain('of 2, by id');
  });

  it('S23 begins a preview anew each time, though it never ends', async () => {
    let now = 1_000_000;
    const clock = { now: () => now, sleep: () => Promise.resolve(), after: () => () => undefined };
    const pith = await registryExtension(skill('alpha'), {}, clock);
    await contextOf(pith, { id: 'preview' });
    await pith.write('sandbox/skills/beta/SKILL.md', skillText({ name: 'beta' }));
    now += 251;
    expect((await contextOf(pith, { id: 'preview' }))!.system).toContain('`beta`');
  });

  it('R12 a preview shows what a conversation gets once all bodies are read, and nothing beside no text', async () => {
    const long = { description: 'Handles it. '.repeat(20) };
    const model = { ref: 'some/model', contextWindow: 8000 };
    const many = Array.from({ length: 60 }, (_, at) => skill(`number-${at}`, long)).reduce((all, one) => ({ ...all, ...one }), {});
    const clock = { now: () => 1_000_000, sleep: () => Promise.resolve(), after: () => () => undefined }; // time does not pass
    const pith = await registryExtension({ ...many, ...skill('alpha', { body: 'Grows porcupines.\n' }) }, {}, clock);
    const shown = await contextOf(pith, { id: 'preview', model, userTexts: ['porcupines'] });
    expect(shown!.turn).toContain('`alpha`');
    expect(shown!.turn).not.toContain('still being indexed');
    expect(await contextOf(pith, { id: 'turn-x', model, userTexts: [' '] })).not.toHaveProperty('turn');
  });

  it('S21 searches bodies, and patches the index when one changes or goes', async () => {
    const pith = await registryExtension({
      ...skill('alpha', { body: 'Grows porcupines.\n' }),
      ...skill('beta', { body: 'Feeds badgers.\n' }),
    });
    const find = (query: string, id: string) => pith.read('list_skills', { query }, callOf({ id }));
    expect(await find('porcupines', 'a')).toContain('`alpha`');
    await pith.write('sandbox/skills/alpha/SKILL.md', skillText({ name: 'alpha', body: 'Grows hedgehogs.\n' }));
    await pith.remove('sandbox/skills/beta');
    await pith.extension.listSkills();
    await expect
      .poll(
        async () => {
          await new Promise((resolve) => setImmediate(resolve));
          return find('hedgehogs', `turn-${Math.random()}`);
        },
        { timeout: 5000 },
      )
      .toContain('`alpha`');
    expect(await find('porcupines', 'z1')).toContain('No skill matches');
    expect(await find('badgers', 'z2')).toContain('No skill matches');
  });
});

describe('binding', () => {
  it('S50 gives the body of an offered skill by id or unique name', async () => {
    const pith = await registryExtension(skill('alpha', { name: 'The Alpha', body: 'Body {{ x }}\n' }));
    expect(await pith.extension.getSkillContent('alpha')).toMatchObject({
      id: 'alpha',
      name: 'The Alpha',
      body: 'Body {{ x }}\n',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect((await pith.extension.getSkillContent('The Alpha')).id).toBe('alpha');
  });

  it('S50 rejects what is unknown, disabled or invalid with the state and the cure', async () => {
    const pith = await registryExtension(
      { ...skill('alpha'), ...skill('beta'), 'sandbox/skills/broken/SKILL.md': 'no frontmatter' },
      { disabled: ['beta'] },
    );
    await expect(pith.extension.getSkillContent('alpa')).rejects.toMatchObject({
      code: 'skill_not_found',
      message: expect.stringContaining('alpha'),
    });
    await expect(pith.extension.getSkillContent('beta')).rejects.toMatchObject({
      code: 'skill_not_offered',
      message: expect.stringContaining('disabled'),
      cure: expect.any(String),
    });
    await expect(pith.extension.getSkillContent('broken')).rejects.toMatchObject({
      code: 'skill_not_offered',
      message: expect.stringContaining('invalid'),
    });
    expect((await pith.extension.listSkills()).map(({ id, state }) => [id, state])).toEqual([
      ['alpha', 'offered'],
      ['beta', 'disabled'],
      ['broken', 'invalid'],
    ]);
  });

  it('S51 uses a changed body at once and keeps the last good one of a removed skill', async () => {
    let now = 0;
    const clock = { now: () => now, sleep: () => Promise.resolve(), after: () => () => undefined };
    const pith = await registryExtension(skill('alpha', { body: 'One.\n' }), {}, clock);
    expect((await pith.extension.getSkillContent('alpha')).body).toBe('One.\n');
    await pith.write('sandbox/skills/alpha/SKILL.md', skillText({ name: 'alpha', body: 'Two.\n' }));
    expect((await pith.extension.getSkillContent('alpha')).body).toBe('Two.\n');
    await pith.remove('sandbox/skills/alpha');
    now += 251;
    expect(await pith.extension.getSkillContent('alpha')).toMatchObject({ body: 'Two.\n', stale: expect.stringContaining('removed') });
  });
});
