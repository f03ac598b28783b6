import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { scriptedModel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { extensionFiles, skillFile } from '../../journeys/sandbox-files.ts';
import { approve } from '../../answers.ts';
import { connected, FILES, kernelWith } from './connected.ts';

/** A tool that a person is asked about. */
const NOTES = extensionFiles('notes', {
  provides: ['tool'],
  main: `import { defineTool, z } from 'pith';
export default class { getTools() { return [defineTool({
  name: 'write_note', description: 'Writes.', input: z.object({}), needsApproval: true,
  execute: async () => { globalThis.wrote += 1; return 'written'; },
})]; } }`,
});

describe('the MCP server', () => {
  it('W22 offers the skills that its agent may read as tools', async () => {
    const pith = await kernelWith();
    const { client, call } = await connected(pith);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['list_skills', 'read_skill', 'read_skill_resource', 'delegate_task']);
    expect((await call('list_skills')).text).toMatch(/^2 of 2 skills, by id:\n.*coffee.*\n.*tea/u);
    expect(await call('read_skill_resource', { skill_id: 'tea', path: 'references/pots.md' })).toMatchObject({ text: 'Use a warm pot.\n' });
    const read = (await call('read_skill', { skill_id: 'tea' })).text;
    expect(read).toMatch(
      /^\[Skill: tea, sha256 [0-9a-f]{64}\]\n\s*Boil water first\.\n\s*\[Its files: assets\/leaf\.bin, references\/pots\.md, scripts\/boil\.sh\]$/u,
    );
    expect(read).not.toContain(pith.sandbox);
    expect(await call('read_skill', { skill_id: 'tee' })).toMatchObject({ isError: true, text: expect.stringContaining('nearest: tea') });
  });

  it('W22 the files of a skill are resources, its scripts are data, and its cases are hidden', async () => {
    const pith = await kernelWith();
    const { client } = await connected(pith);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['skill://coffee/SKILL.md', 'skill://tea/SKILL.md']);
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([{ uriTemplate: 'skill://{+path}' }]);
    expect((await client.readResource({ uri: 'skill://tea/scripts/boil.sh' })).contents).toMatchObject([{ text: '#!/bin/sh\nexit 7\n' }]);
    for (const path of ['evals/cases.yaml', '../coffee/SKILL.md', '%2e%2e/coffee/SKILL.md', 'nothing'])
      await expect(client.readResource({ uri: `skill://tea/${path}` })).rejects.toThrow(path.includes('coffee') ? /./u : /not found/u);
  });

  it('W24 publishes skills by the methods of the skills extension, each with all of its files', async () => {
    const pith = await kernelWith();
    const { client } = await connected(pith);
    const skills = new SkillsClient(client);
    expect([skills.supported, skills.directoryRead]).toEqual([true, true]);
    const { skills: entries, invalid } = await skills.list();
    expect(invalid).toEqual([]);
    expect(entries.map(({ uri }) => uri)).toEqual(['skill://coffee/SKILL.md', 'skill://tea/SKILL.md']);
    const { skill: tea } = await skills.get('skill://tea/SKILL.md');
    expect((tea.resources as { uri: string }[]).map(({ uri }) => uri)).toEqual([
      'skill://tea/SKILL.md',
      'skill://tea/assets/leaf.bin',
      'skill://tea/references/pots.md',
      'skill://tea/scripts/boil.sh',
    ]);
    expect(await skills.read(tea, 'references/pots.md')).toMatchObject({ text: 'Use a warm pot.\n', verified: true });
    expect((await skills.readDirectory('skill://tea')).resources.map(({ name }) => name).toSorted()).toEqual([
      'SKILL.md',
      'assets',
      'references',
      'scripts',
    ]);
    await expect(skills.get('skill://none/SKILL.md')).rejects.toThrow(/No skill/u);
  });

  it('W22 bytes that are no text come as they are, and what is no message on its input costs nothing', async () => {
    const pith = await kernelWith();
    const { client, call, write } = await connected(pith);
    write('no message\n{"jsonrpc":"2.0"}\n[]\n\u0000\n');
    expect((await client.readResource({ uri: 'skill://tea/assets/leaf.bin' })).contents).toMatchObject([{ blob: 'AP8B' }]);
    expect((await call('read_skill_resource', { skill_id: 'tea', path: 'assets/leaf.bin' })).text).toBe(
      'A binary file of 3 bytes. Its bytes are a resource of this server.',
    );
    expect(await call('read_skill', { skill_id: 7 })).toMatchObject({ isError: true, text: expect.stringContaining('wrong arguments') });
  });

  it('W24 a skill that cannot be published whole is not listed by the extension, and is read all the same', async () => {
    const many = Object.fromEntries(Array.from({ length: 512 }, (_, at) => [`skills/coffee/data/${at}.txt`, 'x']));
    const pith = await kernelWith([], { files: { ...many, 'skills/tea/SKILL.md': skillFile('Earl Grey', 'Has another name.', 'Steep.') } });
    const { client, call } = await connected(pith);
    const skills = new SkillsClient(client);
    expect((await skills.list()).skills).toEqual([]);
    await expect(skills.get('skill://coffee/SKILL.md')).rejects.toThrow(/No skill/u);
    expect((await client.listResources()).resources).toHaveLength(2);
    expect((await call('read_skill', { skill_id: 'tea' })).text).toContain('Steep.');
    expect((await client.readResource({ uri: 'skill://coffee/data/511.txt' })).contents).toMatchObject([{ text: 'x' }]);
  });

  it('W22 recipes are prompts, with their arguments', async () => {
    const pith = await kernelWith();
    const { client } = await connected(pith);
    const { prompts } = await client.listPrompts();
    expect(prompts.find(({ name }) => name === 'brew')).toEqual({
      name: 'brew',
      description: 'Brew something',
      arguments: [
        { name: 'what', description: 'The drink', required: true },
        { name: 'how', description: '', required: false },
      ],
    });
    const { messages } = await client.getPrompt({ name: 'brew', arguments: { what: 'tea' } });
    expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Brew tea slowly.\n' } }]);
    await expect(client.getPrompt({ name: 'brew' })).rejects.toThrow(/'what' is missing/u);
  });

  it('W22 delegate_task runs a turn in a thread of its own, and reports how far it is', async () => {
    const pith = await kernelWith([{ calls: [{ name: 'list_skills', input: {} }] }, { text: 'done so far' }, { text: 'and more' }]);
    const { client, call } = await connected(pith);
    const said: string[] = [];
    const answer = await client.callTool(
      { name: 'delegate_task', arguments: { task: 'look around' } },
      { onprogress: ({ message }) => void said.push(message ?? '') },
    );
    expect(answer).toMatchObject({ content: [{ text: 'done so far' }], structuredContent: { reason: 'done', approvals: [] } });
    expect(said).toEqual(['main calls list_skills', 'main: step 1', 'main: step 2']);
    const { thread } = answer.structuredContent as { thread: string };
    expect(await call('delegate_task', { task: 'go on', thread })).toMatchObject({ text: 'and more', structured: { thread } });
    const other = await connected(pith, { userId: 'eve' });
    expect(await other.call('delegate_task', { task: 'x', thread })).toMatchObject({
      isError: true,
      text: expect.stringContaining('there is no thread'),
    });
    expect(await call('delegate_task', { task: 'x', agent: 'nobody' })).toMatchObject({ isError: true });
  });

  it('W22 offers no skill that is switched off, waits for trust, is a draft or is denied to its agent', async () => {
    const pith = await kernelWith([], {
      files: {
        '.staging/skills/draft/SKILL.md': skillFile('draft', 'Not accepted.', 'Draft.'),
        'skills/denied/SKILL.md': skillFile('denied', 'For others.', 'Denied.'),
        'pith.yaml': 'default_agent: main\nskills: { disabled: [coffee] }\n',
      },
    });
    await pith.write('../.claude/skills/secret/SKILL.md', skillFile('secret', 'Of a stranger.', 'Do harm.'));
    await pith.command('skills untrust .claude/skills');
    await pith.restart();
    const listed = (await pith.command('skills list --all')).text;
    for (const id of ['secret', 'draft', 'denied', 'coffee']) expect(listed).toContain(id); // each is there
    const { client, call } = await connected(pith);
    expect((await call('list_skills')).text).toMatch(/^1 of 1 skills, by id:\n.*tea.*$/u);
    expect((await call('list_skills', { query: 'harm coffee draft denied' })).text).not.toMatch(/secret|draft`|denied`|coffee`/u);
    const { skills } = await new SkillsClient(client).list();
    expect(skills.map(({ uri }) => uri)).toEqual(['skill://tea/SKILL.md']);
    for (const id of ['secret', 'draft', 'denied', 'coffee']) {
      expect(await call('read_skill', { skill_id: id })).toMatchObject({ isError: true });
      expect(await call('read_skill', { skill_id: `sandbox/skills/${id}` })).toMatchObject({ isError: true });
      expect(await call('read_skill_resource', { skill_id: id, path: 'SKILL.md' })).toMatchObject({ isError: true });
      await expect(client.readResource({ uri: `skill://${id}/SKILL.md` })).rejects.toThrow(/not found/u);
    }
  });

  it('W22 the client hears that skills have changed, and sees them at once', async () => {
    const pith = await kernelWith();
    const { client, call } = await connected(pith);
    await call('list_skills');
    let heard = 0;
    client.setNotificationHandler('notifications/resources/list_changed', () => void (heard += 1));
    await pith.write('skills/tea/SKILL.md', skillFile('tea', 'Makes other tea.', 'New.'));
    expect((await call('read_skill', { skill_id: 'tea' })).text).toContain('New.');
    await expect.poll(async () => (await call('list_skills')) && heard).toBe(1);
  });

  it('W22 a saved skill that is exposed is a tool for those who may run it, with its inputs', async () => {
    const pith = await kernelWith([{ text: 'Hello Ada' }]);
    const as = (userId: string, line: string) => pith.command(line, { userId, json: true });
    await pith.write(
      'files/greet.yml',
      JSON.stringify({ system_prompt: 'Greet.', description: 'Greets.', input_schema: [{ name: 'who', type: 'string', required: true }] }),
    );
    await as('ada', `saved new greet --file ${pith.sandbox}/files/greet.yml`);
    const ada = await connected(pith, { userId: 'ada' });
    const names = async ({ client }: typeof ada) => (await client.listTools()).tools.map(({ name }) => name);
    expect(await names(ada)).not.toContain('greet');
    let heard = 0;
    ada.client.setNotificationHandler('notifications/tools/list_changed', () => void (heard += 1));
    await as('ada', 'saved expose greet on');
    await expect.poll(() => heard).toBeGreaterThan(0);
    const tool = (await ada.client.listTools()).tools.find(({ name }) => name === 'greet');
    expect(tool).toMatchObject({ description: 'Greets.', inputSchema: { required: ['who'], properties: { who: { type: 'string' } } } });
    expect(await ada.call('greet', {})).toMatchObject({ isError: true, text: expect.stringContaining('who') });
    await pith.kernel.start();
    expect(await ada.call('greet', { who: 'Ada' })).toMatchObject({ text: 'Hello Ada', isError: false });
    const eve = await connected(pith, { userId: 'eve' });
    expect(await names(eve)).not.toContain('greet');
    await expect(eve.call('greet', { who: 'x' })).rejects.toThrow(/there is no tool 'greet'/u);
  });

  it('W6 W22 a question ends delegate_task normally, and after the answer the thread goes on, over a restart, without a second run', async () => {
    const state = globalThis as { wrote?: number };
    state.wrote = 0;
    const pith = await kernelWith([{ calls: [{ name: 'write_note', input: {} }] }, { text: 'noted' }], { files: NOTES });
    const first = await connected(pith);
    const asked = await first.call('delegate_task', { task: 'write it down' });
    const { thread, approvals } = asked.structured as { readonly thread: string; readonly approvals: readonly string[] };
    expect(asked).toMatchObject({ isError: false, structured: { reason: 'awaiting_approval' } });
    expect(asked.text).toContain(`pith approvals approve ${approvals[0]}`);
    expect(asked.text).toMatch(/It waits for a person to approve: .*write_note/u);
    await first.end();
    await pith.restart();
    await pith.kernel.approvals.answer(approvals[0]!, { answer: 'once', by: 'local' });
    const again = await connected(pith);
    expect(await again.call('delegate_task', { thread })).toMatchObject({ text: 'noted', structured: { reason: 'done', thread } });
    expect(state.wrote).toBe(1);
  });

  it('W6 W22 a task behind an answer with which nobody went on is done after what a person allowed', async () => {
    const state = globalThis as { wrote?: number };
    state.wrote = 0;
    const pith = await kernelWith([{ calls: [{ name: 'write_note', input: {} }] }, { text: 'noted' }, { text: 'and more' }], {
      files: NOTES,
    });
    const { client, call } = await connected(pith);
    const { structured } = await call('delegate_task', { task: 'write it down' });
    const { thread, approvals } = structured as { readonly thread: string; readonly approvals: readonly string[] };
    await pith.kernel.approvals.answer(approvals[0]!, { answer: 'once', by: 'local' });
    const answer = await client.callTool({ name: 'delegate_task', arguments: { task: 'and then', thread } });
    expect(answer).toMatchObject({ content: [{ text: 'noted' }, { text: 'and more' }], structuredContent: { reason: 'done', thread } });
    expect(state.wrote).toBe(1);
  });

  it('W6 W22 a task behind an answer is said to be not begun where what a person allowed does not end well, and is begun by the next call', async () => {
    const steps = [{ calls: [{ name: 'write_note', input: {} }] }, { error: new Error('broken') }, { text: 'and then' }];
    const pith = await kernelWith(steps, { files: NOTES });
    const { client, call } = await connected(pith);
    const { structured } = await call('delegate_task', { task: 'write it down' });
    const { thread, approvals } = structured as { readonly thread: string; readonly approvals: readonly string[] };
    await pith.kernel.approvals.answer(approvals[0]!, { answer: 'once', by: 'local' });
    const failed = await client.callTool({ name: 'delegate_task', arguments: { task: 'and then', thread } });
    const content = [{ text: expect.stringContaining('It failed:') }, { text: 'The task was not begun: call again with it.' }];
    expect(failed).toMatchObject({ isError: true, content, structuredContent: { reason: 'error' } });
    expect(await call('delegate_task', { task: 'and then', thread })).toMatchObject({ text: 'and then', structured: { reason: 'done' } });
  });

  it('W6 W22 where whoever answered has gone on with the task, the client is told its answer, over a restart, without a second run', async () => {
    const state = globalThis as { wrote?: number };
    state.wrote = 0;
    const pith = await kernelWith([{ calls: [{ name: 'write_note', input: {} }] }, { text: 'noted' }], { files: NOTES });
    const first = await connected(pith);
    const asked = await first.call('delegate_task', { task: 'write it down' });
    const { thread, approvals } = asked.structured as { readonly thread: string; readonly approvals: readonly string[] };
    expect(await approve(pith, approvals[0]!)).toContain('noted');
    await first.end();
    await pith.restart();
    const again = await connected(pith);
    for (const time of ['first', 'second'])
      expect([time, await again.call('delegate_task', { thread })]).toMatchObject([
        time,
        { text: 'noted', isError: false, structured: { reason: 'done' } },
      ]);
    expect(state.wrote).toBe(1);
  });

  it('W22 delegate_task keeps nothing beside its threads, so that no number of calls that nobody goes on with stops the next', async () => {
    const pith = await kernelWith([{ calls: [{ name: 'write_note', input: {} }] }, { error: new Error('broken') }, { text: 'noted' }], {
      files: { ...NOTES, 'pith.yaml': `${FILES['pith.yaml']}quotas: { keys: 1 }\n` },
    });
    const { call } = await connected(pith);
    expect(await call('delegate_task', { task: 'write it down' })).toMatchObject({ structured: { reason: 'awaiting_approval' } });
    const failed = await call('delegate_task', { task: 'again' });
    expect(failed).toMatchObject({ isError: true, structured: { reason: 'error' } });
    const { thread } = failed.structured as { readonly thread: string };
    expect(await call('delegate_task', { task: 'more', thread, agent: 'nobody' })).toMatchObject({ isError: true });
    expect(await call('delegate_task', { thread })).toMatchObject({ text: 'noted', structured: { reason: 'done' } });
  });

  it('W22 a task that failed is tried again by a call without one: it goes on, and repeats no finished tool', async () => {
    const state = globalThis as { wrote?: number };
    state.wrote = 0;
    const files = { ...NOTES, 'extensions/notes/main.ts': NOTES['extensions/notes/main.ts']!.replace('needsApproval: true,', '') };
    const pith = await kernelWith([{ calls: [{ name: 'write_note', input: {} }] }, { error: new Error('broken') }, { text: 'noted' }], {
      files,
    });
    const { call } = await connected(pith);
    const failed = await call('delegate_task', { task: 'write it down' });
    expect(failed).toMatchObject({ isError: true, structured: { reason: 'error' } });
    const { thread } = failed.structured as { readonly thread: string };
    expect(await call('delegate_task', { thread })).toMatchObject({ text: 'noted', structured: { reason: 'done', thread } });
    expect(state.wrote).toBe(1);
  });

  it('W22 a call that the client cancels ends its turn', async () => {
    const model = scriptedModel([{ text: 'begun', hang: true }, { text: 'still here' }]);
    const pith = await kernelWith([], { model });
    const ends: string[] = [];
    pith.kernel.events.handle('turn.ended', ({ reason }) => void ends.push(reason));
    const { client, call } = await connected(pith);
    const cancel = new AbortController();
    const running = client.callTool({ name: 'delegate_task', arguments: { task: 'wait' } }, { signal: cancel.signal });
    await expect.poll(() => model.requests.length).toBe(1);
    cancel.abort('enough');
    await expect(running).rejects.toThrow(/enough/u);
    await expect.poll(() => ends).toEqual(['aborted']);
    expect(await call('delegate_task', { task: 'again' })).toMatchObject({ text: 'still here' });
  });

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])('W22 serves a client that speaks %s', async (version) => {
    const pith = await kernelWith();
    const { client, call } = await connected(pith, { version });
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect((await call('read_skill', { skill_id: 'tea' })).text).toContain('Boil water first.');
    expect((await client.readResource({ uri: 'skill://tea/references/pots.md' })).contents).toMatchObject([{ text: 'Use a warm pot.\n' }]);
  });

  it('W22 ends when its input ends, and says to a person at a terminal who starts it', async () => {
    const pith = await kernelWith();
    const { end, call } = await connected(pith, { args: { agent: 'helper' } });
    expect((await call('delegate_task', {})).text).toContain('neither a task nor a thread');
    await end();
    await expect(pith.command('mcp serve')).rejects.toThrow(/an MCP client starts this command/u);
    await expect(connected(pith, { args: { agent: 'mian' } })).rejects.toThrow(/no agent 'mian'/u);
  });
});
