import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKernel, type TestKernel } from 'pith/testing';
import { scriptKernel } from './script-kernel.ts';
import { skillText } from './skill-sandbox.ts';

const SETTINGS = 'extensions: { skill_registry: { isolation: process } }\nextensions_sandbox: off\n';

let pith: TestKernel;
let here: string;

beforeAll(async () => {
  here = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-here-')));
  await mkdir(path.join(here, 'mine/brought'), { recursive: true });
  await writeFile(path.join(here, 'mine/brought/SKILL.md'), skillText({ name: 'brought' }));
  pith = await testKernel({
    isolation: 'process',
    files: { 'pith.yaml': SETTINGS },
  });
});
afterAll(async () => {
  await pith.stop();
  await rm(here, { recursive: true, force: true });
});

const run = (line: string) => pith.command(line, { workingDirectory: here });

describe('the registry in a separate process', () => {
  it('S81 S83 its commands take paths from where the person is', async () => {
    expect(await run('skills validate mine')).toMatchObject({ code: 0, text: 'mine/brought: valid' });
    expect(await run('skills validate ./mine/brought')).toMatchObject({ code: 0, text: './mine/brought: valid' });
    expect(await run('skills lint mine/brought')).toMatchObject({ text: expect.stringContaining('1 skill checked') });
    expect(await run('skills install mine/brought')).toMatchObject({ code: 0, text: expect.stringContaining('Installed brought') });
    expect(await readFile(path.join(pith.sandbox, 'skills/brought/SKILL.md'), 'utf8')).toContain('name: brought');
  });

  it('S73 a script is refused with why and what to do', async () => {
    const settings = 'default_agent: runner\nskills: { sources: { replace: [sandbox/skills] }, scripts: { approval: never } }\n';
    const kit = await scriptKernel(
      { 'scripts/say.sh': 'echo hello' },
      { isolation: 'process', files: { 'pith.yaml': `${settings}${SETTINGS}` } },
    );
    const { code, output } = await kit.run('scripts/say.sh');
    expect(code).toBe('sandbox_unavailable');
    expect(output).toContain('extensions.skill_registry.isolation: in_process');
  });
});
