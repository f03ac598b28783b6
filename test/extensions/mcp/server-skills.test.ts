import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonValue, ToolResult } from 'pith';
import type { TestKernel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { skillFile } from '../../journeys/sandbox-files.ts';
import { folderWith, kernelOf } from '../../places.ts';
import { serverRows } from './settled.ts';

const SERVER = path.resolve('test/fixtures/mcp-skills-server.mjs');
const TEA = 'skill://tea/SKILL.md';
const REMOTE = skillFile('tea', 'Makes tea the far way.\nallowed-tools: run_command', 'Boil far water.').replace(
  '---\n\n',
  'hooks:\n  on: x\n---\n\n',
);

/** A kernel with the server `far`, which publishes the skill `tea`; the sandbox has another of that name. */
async function served(mode = 'plain') {
  const folder = folderWith({ 'tea/SKILL.md': REMOTE, 'tea/references/pots.md': 'Warm far water.\n' });
  const servers = { far: { command: process.execPath, args: [SERVER, folder, mode] } };
  const pith = await kernelOf({
    only: ['mcp', 'skill_registry'],
    files: {
      'pith.yaml': JSON.stringify({ extensions: { mcp: { servers } } }),
      'skills/tea/SKILL.md': skillFile('tea', 'Makes tea here.', 'Own words.'),
    },
  });
  await expect.poll(async () => (await serverRows(pith, { wait: true })).map(({ state }) => state)).toEqual(['connected']);
  return { pith, folder, edit: (file: string, text: string) => writeFileSync(path.join(folder, file), text) };
}

const tools = async (pith: TestKernel) =>
  (await pith.kernel.host.providers.tools.of('mcp')).filter(({ name }) => name === 'read_server_skill');
const read = (pith: TestKernel, input: JsonValue): Promise<ToolResult> =>
  pith.kernel.host.providers.tools.call('mcp', 'read_server_skill', input, {
    turn: {} as never,
    idempotencyKey: 'k',
    signal: new AbortController().signal,
  });
const far = (more: object = {}) => ({ server: 'far', uri: TEA, ...more }) as JsonValue;
async function trust(pith: TestKernel) {
  const said = await pith.command(['mcp', 'skills', 'trust', 'far', TEA, '--yes']);
  await expect.poll(async () => (await tools(pith)).length).toBe(1);
  return said;
}
const rows = async (pith: TestKernel) => (await pith.command('mcp skills', { json: true })).values[0];

describe('skills of MCP servers', () => {
  it('W24 a skill is named by its server and address, and is read once a person has seen all of its files and agreed', async () => {
    const { pith } = await served();
    expect(await rows(pith)).toMatchObject([{ server: 'far', uri: TEA, trust: 'untrusted', name: 'tea' }]);
    expect(await tools(pith)).toEqual([]);
    await expect(pith.command(['mcp', 'skills', 'trust', 'far', TEA])).rejects.toThrow(/nobody is there to agree/u);
    expect(await tools(pith)).toEqual([]);
    const { text } = await trust(pith);
    expect(text).toMatch(
      /server 'far' publishes the skill 'tea'[^]*skill:\/\/tea\/SKILL\.md .*sha256:[^]*skill:\/\/tea\/references\/pots\.md .*sha256:/u,
    );
    await expect
      .poll(async () => (await tools(pith))[0]?.description)
      .toMatch(/• far: skill:\/\/tea\/SKILL\.md — Makes tea the far way\./u);
    const skill = await read(pith, far());
    expect(skill).toMatchObject({
      ok: true,
      output: expect.stringMatching(/^From the MCP server 'far', skill:\/\/tea\/SKILL\.md:\n\n\s*Boil far water\.\n$/u),
    });
    expect(await read(pith, far({ path: 'references/pots.md' }))).toMatchObject({
      ok: true,
      output: expect.stringContaining('Warm far water.'),
    });
    expect(await rows(pith)).toMatchObject([{ trust: 'trusted' }]);
    expect((await pith.command('skills list --all')).text).not.toContain('far way'); // it is none of the registry's, and hides none of them
    expect((await pith.command(['mcp', 'skills', 'untrust', 'far', TEA])).code).toBe(0);
    expect(await read(pith, far())).toMatchObject({ ok: false });
  });

  it('W24 the agreement lapses when one of its files changes, or the server of that name is another', async () => {
    const { pith, edit } = await served();
    await trust(pith);
    edit('tea/references/pots.md', 'Cold water.\n');
    for (const input of [far(), far({ path: 'references/pots.md' })])
      expect(await read(pith, input)).toMatchObject({
        ok: false,
        error: { code: 'skill_not_offered', message: expect.stringContaining('its files are others') },
      });
    expect(await rows(pith)).toMatchObject([{ trust: 'changed' }]);
    await trust(pith);
    expect(await read(pith, far({ path: 'references/pots.md' }))).toMatchObject({
      ok: true,
      output: expect.stringContaining('Cold water.'),
    });
    const others = folderWith({ 'tea/SKILL.md': REMOTE, 'tea/references/pots.md': 'Cold water.\n' });
    await pith.write(
      'pith.yaml',
      JSON.stringify({ extensions: { mcp: { servers: { far: { command: process.execPath, args: [SERVER, others] } } } } }),
    );
    await pith.restart();
    await expect.poll(async () => (await serverRows(pith, { wait: true })).map(({ state }) => state)).toEqual(['connected']);
    expect(await rows(pith)).toMatchObject([{ trust: 'untrusted' }]);
    expect(await tools(pith)).toEqual([]);
  });

  it('W24 refuses a file that is not listed, and one that is not what was listed: a digest that matches is no trust, one that does not is refused', async () => {
    const { pith } = await served('lies');
    await trust(pith);
    const lied = await read(pith, far());
    expect(lied).toMatchObject({ ok: false, error: { code: 'mcp_error' } });
    expect(JSON.stringify(lied)).not.toContain('poison');
    for (const name of ['secret.md', '../other/SKILL.md', 'skill://other/SKILL.md', 'https://example.com/x'])
      expect(await read(pith, far({ path: name }))).toMatchObject({ ok: false, error: { code: 'mcp_error' } });
  });

  it('W24 a skill whose files its server does not list cannot be agreed to', async () => {
    const { pith } = await served('dynamic');
    expect(await rows(pith)).toMatchObject([{ trust: 'unverifiable' }]);
    await expect(trust(pith)).rejects.toThrow(/does not say what the files of this skill are/u);
    expect(await read(pith, far())).toMatchObject({ ok: false });
  });

  it('W22 a server that is away costs its skills and no time', async () => {
    const { pith } = await served();
    await trust(pith);
    await pith.write(
      'pith.yaml',
      JSON.stringify({ extensions: { mcp: { servers: { other: { command: process.execPath, args: ['-e', ''] } } } } }),
    );
    await pith.restart();
    expect(await read(pith, far())).toMatchObject({ ok: false, error: { code: 'tool_gone' } });
  });
});
