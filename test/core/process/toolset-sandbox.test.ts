import { probeSandboxing } from '@pith/held-process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CALL, NEVER, testSandbox, type TestSandbox } from '../kernel/sandbox.ts';

const sandboxing = await probeSandboxing();
const why = sandboxing.available ? '' : ` (skipped: ${sandboxing.why})`;

describe.runIf(sandboxing.available)(`the toolset of a skill in bubblewrap${why}`, () => {
  let sandbox: TestSandbox;
  let elsewhere: string;
  beforeEach(async () => {
    sandbox = await testSandbox();
    elsewhere = await mkdtemp(path.join(os.tmpdir(), 'pith-skills-'));
  });
  afterEach(async () => {
    await sandbox.close();
    await rm(elsewhere, { recursive: true, force: true });
  });

  it('S70: sees its skill and the project, writes into its data only, and has no network', async () => {
    const server = createServer((_, response) => response.end('reached')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const skill = path.join(elsewhere, 'skill');
    const data = path.join(sandbox.directory, 'data');
    await sandbox.extension('skills', 'tool', 'export default class { getTools() { return []; } }');
    await sandbox.write('notes.md', 'notes');
    await sandbox.write('data/toolsets/other/state.txt', 'of another');
    await sandbox.write('data/secrets.json', '{}');
    await sandbox.write(`../${path.relative(path.dirname(sandbox.directory), skill)}/note.txt`, 'of the skill');
    await writeFile(path.join(elsewhere, 'beside.txt'), 'beside the skill');
    const reads = [path.join(skill, 'note.txt'), path.join(sandbox.directory, 'notes.md'), 'mine.txt'];
    const refused = [path.join(elsewhere, 'beside.txt'), path.join(data, 'toolsets/other/state.txt'), path.join(data, 'secrets.json')];
    await writeFile(
      path.join(skill, 'index.ts'),
      `import fs from 'node:fs'; import { defineTool, z } from 'pith';
      const tried = async (run) => { try { return String(await run()); } catch (error) { return 'refused'; } };
      export const list = [defineTool({ name: 'look', description: 'd', input: z.object({}), execute: async () => {
        fs.writeFileSync('mine.txt', 'mine');
        const seen = [];
        for (const file of ${JSON.stringify([...reads, ...refused])}) seen.push(await tried(() => fs.readFileSync(file, 'utf8')));
        seen.push(await tried(() => fs.writeFileSync(${JSON.stringify(path.join(skill, 'index.ts'))}, 'changed')));
        seen.push(await tried(async () => (await fetch('http://127.0.0.1:${(server.address() as AddressInfo).port}')).text()));
        return seen;
      } })];`,
    );
    const host = await sandbox.host({ sandboxing: async () => sandboxing });
    await host.toolsets.open('skills', { id: 'sky 天', directory: skill, modules: ['index:list'] });
    const result = await host.providers.tools.call('toolset:sky 天', 'look', {}, { ...CALL, signal: NEVER });
    server.close();
    expect(result).toMatchObject({
      ok: true,
      output: ['of the skill', 'notes', 'mine', 'refused', 'refused', 'refused', 'refused', 'refused'],
    });
  });
});
