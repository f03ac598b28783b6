import { encode } from 'gpt-tokenizer';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { fakeClock, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ChatBody } from '../fixtures/openai-server.ts';
import { folderWith, kernelOf } from '../places.ts';
import { agentFile, contextExtension, skillFile, toolExtension } from './sandbox-files.ts';
import { ownServer, type OwnServer } from './until-test-ends.ts';

const READ_TOOLS = ['list_skills', 'read_skill', 'read_skill_resource'];

describe.each([{ wire: false }, { wire: true }])('what a server is sent (wire: $wire)', ({ wire }) => {
  let server: OwnServer;
  let pith: TestKernel;
  beforeEach(async () => void (server = await ownServer()));

  async function start(options: TestKernelOptions = {}): Promise<void> {
    pith = await kernelOf({ wire, ...options, env: server.env });
  }

  /** One turn that answers `ok`, and the request that it made. */
  async function sent(input: string, request: Parameters<TestKernel['run']>[1] = {}): Promise<ChatBody> {
    server.script({ text: 'ok' });
    const turn = await pith.run(input, { channelId: 'cli', ...request });
    expect(turn, JSON.stringify(turn.error)).toMatchObject({ reason: 'done', text: 'ok' });
    return (server.requests.at(-1) as { body: ChatBody }).body;
  }

  const REVIEWER = {
    'agents/reviewer/manifest.yaml': agentFile('reviewer', {
      uses_tools: ['skill_registry'],
      uses_skills: ['beta', 'alpha'],
      instructions: 'INLINE-INSTRUCTIONS',
    }),
    'agents/reviewer/prompt.jinja2': 'PROMPT-OF {{ agent.name }}\n',
    'skills/alpha/SKILL.md': skillFile('alpha', 'Alpha things.', 'BODY-OF-ALPHA {{ untouched }} $&'),
    'skills/beta/SKILL.md': skillFile('beta', 'Beta things.', 'BODY-OF-BETA'),
    'skills/gamma/SKILL.md': skillFile('gamma', 'Gamma things.', 'BODY-OF-GAMMA'),
    ...contextExtension('late', 90, 'CONTEXT-90'),
    ...contextExtension('early', 10, 'CONTEXT-10'),
  };

  it('S50 S24 K63 holds skill bodies, prompt, inline instructions, then contexts by priority with the catalog at 60', async () => {
    await start({ files: REVIEWER });
    const body = await sent('hello', { agent: 'reviewer' });
    expect(body.model).toBe('test');
    const system = systemOf(body);
    expectInOrder(system, [
      '<skill id="beta"',
      'BODY-OF-BETA',
      '<skill id="alpha"',
      'BODY-OF-ALPHA {{ untouched }} $&',
      'PROMPT-OF reviewer',
      'INLINE-INSTRUCTIONS',
      '[Channel]',
      '`local`',
      'CONTEXT-10',
      '[Available Skills]',
      '• `gamma` — Gamma things.',
      'Use read_skill(skill_id) to load full instructions.',
      'CONTEXT-90',
    ]);
    expect(system).not.toContain('BODY-OF-GAMMA');
    expect(body.messages.slice(1)).toEqual([{ role: 'user', content: 'hello' }]);
  });

  it('S25 sends exactly the three read tools, each with a JSON schema', async () => {
    await start({ files: REVIEWER });
    const { tools = [] } = await sent('hello', { agent: 'reviewer' });
    expect(tools.map((tool) => tool.function.name).sort()).toEqual(READ_TOOLS);
    for (const tool of tools)
      expect(tool).toMatchObject({ type: 'function', function: { parameters: { type: 'object', properties: expect.any(Object) } } });
    const parameters = (name: string) => tools.find((tool) => tool.function.name === name)?.function.parameters;
    expect(parameters('read_skill')).toMatchObject({ properties: { skill_id: { type: 'string' } }, required: ['skill_id'] });
    expect(parameters('read_skill_resource')).toMatchObject({
      properties: { skill_id: { type: 'string' }, path: { type: 'string' } },
      required: ['skill_id', 'path'],
    });
    expect(parameters('list_skills')).toMatchObject({
      properties: { query: { type: 'string' }, limit: { type: 'integer' }, offset: { type: 'integer' } },
    });
  });

  it('S24 sends the same bytes of system text when nothing changed: next turn, other thread, after a restart', async () => {
    await start({ files: REVIEWER });
    const first = systemOf(await sent('review my extension for best practices', { agent: 'reviewer' }));
    const second = await sent('something else entirely, about gamma', { agent: 'reviewer' });
    expect(second.messages).toHaveLength(4);
    expect(systemOf(second)).toBe(first);
    expect(systemOf(await sent('hello', { agent: 'reviewer', threadId: 'another' }))).toBe(first);
    await pith.restart();
    expect(systemOf(await sent('third', { agent: 'reviewer' }))).toBe(first);
  });

  it('K80 S30 R11 shows the orchestrator every skill on a line with what it is for and when to use it, and tells it to look at them first', async () => {
    await start({
      files: { 'skills/gamma/SKILL.md': skillFile('gamma', 'Turns gamma readings into a table with totals and outliers. Long tail.', 'x') },
    });
    expect(pith.kernel.settings.default_agent).toBe('orchestrator');
    const system = systemOf(await sent('hello'));
    expect(system).toMatch(/always check the available skills before starting a complex task/iu);
    const lines = system.split('\n').filter((line) => line.startsWith('• `'));
    expect(lines.map((line) => line.split('`')[1])).toEqual(
      expect.arrayContaining(['code-review', 'gamma', 'skill-creator', 'task-decomposition']),
    );
    expect(lines.find((line) => line.includes('gamma'))).toBe(
      '• `gamma` — Turns gamma readings into a table with totals and outliers. Long tail.',
    );
    expect(lines.filter((line) => !line.includes('Use when '))).toEqual([expect.stringContaining('gamma')]);
    const tokens = lines.map((line) => encode(`${line}\n`).length);
    expect(Math.max(...tokens), lines.join('\n')).toBeLessThanOrEqual(110);
    expect(tokens.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(2000);
  });

  it('S20 chats without skill_registry where it is switched off', async () => {
    await start({
      files: { 'pith.yaml': 'extensions:\n  skill_registry: { enabled: false }\n', ...toolExtension('clock_tool', 'what_time', "'noon'") },
    });
    const off = await sent('hello');
    expect(systemOf(off)).not.toContain('[Available Skills]');
    const names = off.tools?.map((tool) => tool.function.name) ?? [];
    expect(names).toContain('what_time');
    expect(names.filter((name) => READ_TOOLS.includes(name))).toEqual([]);
  });

  it('S20 chats without skill_registry where it is not there at all', async () => {
    const sandbox = path.join(folderWith(), 'sandbox');
    const left = new Set(['data', 'skill_registry']);
    await cp(path.resolve('sandbox'), sandbox, { recursive: true, filter: (source) => !left.has(path.basename(source)) });
    await start({ sandbox, only: [] });
    const body = await sent('hello');
    expect(systemOf(body)).toContain('You are the orchestrator');
    expect(body.tools?.map((tool) => tool.function.name)).toContain('file');
  });

  it('S15 --no-skills removes catalog, tools and bodies; the agent is degraded and says so once', async () => {
    await start({ files: REVIEWER, flags: { skills: { enabled: false } } });
    const body = await sent('hello', { agent: 'reviewer' });
    expect(body.tools ?? []).toEqual([]);
    expect(systemOf(body)).toContain('PROMPT-OF reviewer');
    expect(systemOf(body)).not.toMatch(/BODY-OF|Available Skills|<skill/u);
    expect((await pith.kernel.agents.resolve('reviewer')).state).toBe('degraded');
    server.script({ text: 'a' }, { text: 'b' });
    const said = [
      await pith.run('x', { agent: 'reviewer', threadId: 'fresh' }),
      await pith.run('y', { agent: 'reviewer', threadId: 'fresh' }),
    ].map(({ events }) => events.filter((event) => event.type === 'notice').length);
    expect(said[1]).toBe(0);
  });

  it('S31 shows an agent what its allow, deny and scope leave, without what it carries, only if it holds read_skill', async () => {
    const uses_tools = ['skill_registry'];
    await start({
      files: {
        ...Object.fromEntries(
          ['alpha', 'beta', 'gamma', 'delta'].map((id) => [`skills/${id}/SKILL.md`, skillFile(id, `The ${id} skill.`, 'x')]),
        ),
        'agents/allowed/manifest.yaml': agentFile('allowed', { uses_tools, skills: { allow: ['alpha', 'beta', 'gamma'], deny: ['beta'] } }),
        'agents/declared/manifest.yaml': agentFile('declared', {
          uses_tools,
          uses_skills: ['alpha'],
          skills: { scope: 'declared', allow: ['gamma'] },
        }),
        'agents/toolless/manifest.yaml': agentFile('toolless', { uses_skills: ['alpha'] }),
      },
    });
    const catalog = async (agent: string) =>
      [...systemOf(await sent('hello', { agent, threadId: agent })).matchAll(/^• `([^`]+)`/gmu)].map((match) => match[1]);
    expect(await catalog('allowed')).toEqual(['alpha', 'gamma']);
    expect(await catalog('declared')).toEqual(['gamma']);
    expect(await catalog('toolless')).toEqual([]);
  });

  it('S50 says that a skill is unknown and works without it, uses it when it appears, and fails for one that is kept back', async () => {
    const clock = fakeClock();
    await start({
      clock,
      files: {
        'agents/writer/manifest.yaml': agentFile('writer', { uses_skills: ['alhpa'], instructions: 'WRITER', modle: 'other/x' }),
        'skills/alpha/SKILL.md': skillFile('alpha', 'Alpha.', 'BODY-OF-ALPHA'),
        'skills/shut/SKILL.md': skillFile('shut', 'Shut.', 'BODY-OF-SHUT'),
        'agents/closed/manifest.yaml': agentFile('closed', { uses_skills: ['shut'] }),
        'pith.yaml': 'skills:\n  disabled: [shut]\n  poll_seconds: 0\n',
      },
    });
    expect((await pith.run('hello', { agent: 'closed' })).error?.message).toMatch(/shut.*(?:disabled|switched off)/su);
    expect(server.requests).toEqual([]);
    server.script({ text: 'ok' });
    const { events } = await pith.run('hello', { agent: 'writer' });
    const said = events.flatMap((event) => (event.type === 'notice' ? [event.message] : [])).join(' ');
    expect(said).toMatch(/there is no skill named 'alhpa' \(did you mean 'alpha'\?\); .*add the skill/su);
    expect(systemOf(server.requests.at(-1)!.body)).toMatch(/^WRITER/u);
    const { state, notes } = await pith.kernel.agents.resolve('writer');
    expect([state, notes.map(({ code }) => code)]).toEqual(['degraded', ['unknown_key', 'skill_not_found']]);
    await pith.write('skills/alhpa/SKILL.md', skillFile('alhpa', 'The misspelt one.', 'BODY-OF-ALHPA'));
    await clock.advance(260); // S22: a look at the disk holds for a quarter of a second
    expect(systemOf(await sent('hello', { agent: 'writer' }))).toContain('BODY-OF-ALHPA');
  });

  it('S51 uses a changed bound skill in the next turn; a removed one stays as it was, with one warning', async () => {
    const clock = fakeClock();
    await start({
      clock,
      files: {
        'agents/writer/manifest.yaml': agentFile('writer', { uses_skills: ['alpha'] }),
        'skills/alpha/SKILL.md': skillFile('alpha', 'Alpha.', 'BODY-ONE'),
      },
    });
    expect(systemOf(await sent('hello', { agent: 'writer' }))).toContain('BODY-ONE');
    await pith.write('skills/alpha/SKILL.md', skillFile('alpha', 'Alpha.', 'BODY-TWO'));
    const changed = systemOf(await sent('again', { agent: 'writer' }));
    expect(changed).toContain('BODY-TWO');
    expect(changed).not.toContain('BODY-ONE');
    await pith.remove('skills/alpha');
    await clock.advance(260);
    server.script({ text: 'ok' }, { text: 'ok' });
    const removed = await pith.run('third', { agent: 'writer' });
    expect(systemOf(server.requests.at(-1)!.body)).toContain('BODY-TWO');
    expect(removed.events).toContainEqual(expect.objectContaining({ type: 'notice', message: expect.stringContaining('alpha') }));
    expect((await pith.run('fourth', { agent: 'writer' })).events.filter(({ type }) => type === 'notice')).toEqual([]);
    expect(systemOf(server.requests.at(-1)!.body)).toContain('BODY-TWO');
    const notes = [expect.objectContaining({ message: expect.stringContaining('removed') })];
    expect(await pith.kernel.agents.resolve('writer')).toMatchObject({ state: 'degraded', notes });
  });
});

function systemOf(body: ChatBody): string {
  return body.messages
    .filter(({ role }) => role === 'system')
    .map(({ content }) => String(content))
    .join('\n\n');
}

function expectInOrder(text: string, parts: readonly string[]): void {
  const places = parts.map((part) => text.indexOf(part));
  expect(places, text).not.toContain(-1);
  expect(places, text).toEqual([...places].sort((a, b) => a - b));
}
