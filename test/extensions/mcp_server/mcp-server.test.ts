import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { describe, expect, it } from 'vitest';
import { connected, kernelWith } from './connected.ts';

describe('the MCP server', () => {
  it('W22 offers the skills that its agent may read as tools', async () => {
    const pith = await kernelWith();
    const { client, call } = await connected(pith);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['list_skills', 'read_skill', 'read_skill_resource', 'delegate_task']);
    expect((await call('list_skills')).text).toMatch(/^2 of 2 skills, by id:\n.*coffee.*\n.*tea/u);
    expect((await call('read_skill', { skill_id: 'tea' })).text).toContain('Boil water first.');
    expect(await call('read_skill_resource', { skill_id: 'tea', path: 'references/pots.md' })).toMatchObject({ text: 'Use a warm pot.\n' });
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
      'skill://tea/references/pots.md',
      'skill://tea/scripts/boil.sh',
    ]);
    expect(await skills.read(tea, 'references/pots.md')).toMatchObject({ text: 'Use a warm pot.\n', verified: true });
    expect((await skills.readDirectory('skill://tea')).resources.map(({ name }) => name).toSorted()).toEqual(['SKILL.md', 'references', 'scripts']);
    await expect(skills.get('skill://none/SKILL.md')).rejects.toThrow(/No skill/u);
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
    expect(await other.call('delegate_task', { task: 'x', thread })).toMatchObject({ isError: true, text: expect.stringContaining('there is no thread') });
    expect(await call('delegate_task', { task: 'x', agent: 'nobody' })).toMatchObject({ isError: true });
  });
});
