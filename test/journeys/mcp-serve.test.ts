import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it } from 'vitest';
import { agentFile, skillFile } from './sandbox-files.ts';
import { ownFolder, ownServer } from './until-test-ends.ts';

/** What the page tells people to write into the settings of a client. */
function documented(): { readonly command: string; readonly args: readonly string[] } {
  const [, text = ''] = /^```json\n([^]*?)^```/mu.exec(readFileSync('docs/mcp.md', 'utf8')) ?? [];
  return (JSON.parse(text) as { mcpServers: { pith: ReturnType<typeof documented> } }).mcpServers.pith;
}

describe('pith mcp serve', () => {
  it('W22 a client starts it as the page says: nothing but messages on its output, skills are read, a task is done', async () => {
    const model = await ownServer();
    const folder = await ownFolder({
      'pith.yaml': 'default_agent: main\n',
      'agents/main/manifest.yaml': agentFile('main', { skills: { allow: ['tea'] } }),
      'skills/tea/SKILL.md': skillFile('tea', 'Makes tea.\u200b', 'Boil water. \u001b[31mNow \u202e.'),
      'extensions/broken/manifest.yaml': 'id: broken\nentrypoint: none.ts\nprovides: [tool]\n',
    });
    const { command, args } = documented();
    expect([command, args[0]]).toEqual(['npx', 'pith']);
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [path.resolve('bin/pith'), ...args.slice(1)],
      cwd: folder.path,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder.path, PITH_TRUST: '1', ...model.env },
      stderr: 'pipe',
    });
    const client = new Client({ name: 'test', version: '1' });
    const odd: string[] = [];
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the package has no other way
    client.onerror = (error) => void odd.push(error.message); // of a line that is no message
    await client.connect(transport);
    const texts = async (name: string, input: object) =>
      ((await client.callTool({ name, arguments: { ...input } })).content as readonly { readonly text: string }[])[0]?.text;
    expect(await texts('read_skill', { skill_id: 'tea' })).toContain('Boil water.');
    const { contents } = await client.readResource({ uri: 'skill://tea/SKILL.md' });
    expect(contents).toMatchObject([{ text: expect.stringContaining('Boil water. \u001b[31mNow \u202e.') }]); // byte for byte
    model.script({ text: 'It is done.' });
    expect(await texts('delegate_task', { task: 'do it' })).toBe('It is done.');
    await client.close();
    expect(odd).toEqual([]);
  });
});
