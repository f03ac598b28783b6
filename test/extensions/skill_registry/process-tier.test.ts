import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { probeSandboxing } from '@pith/supervised-process';
import { describe, expect, it } from 'vitest';
import { folderWith, kernelOf } from '../../places.ts';
import { scriptKernel } from '../skill_scripts/script-kernel.ts';
import { skillText } from './skill-sandbox.ts';

const { available } = await probeSandboxing();
const SETTINGS = 'extensions: { skill_registry: { isolation: process } }\nextensions_sandbox: off\n';

describe('the registry in a separate process', () => {
  it('S81 S83 its commands take paths from where the person is', async () => {
    const here = folderWith({ 'mine/brought/SKILL.md': skillText({ name: 'brought' }) });
    const pith = await kernelOf({ isolation: 'process', files: { 'pith.yaml': SETTINGS } });
    const run = (line: string) => pith.command(line, { workingDirectory: here });
    expect(await run('skills validate mine')).toMatchObject({ code: 0, text: 'mine/brought: valid' });
    expect(await run('skills validate ./mine/brought')).toMatchObject({ code: 0, text: './mine/brought: valid' });
    expect(await run('skills lint mine/brought')).toMatchObject({ text: expect.stringContaining('1 skill checked') });
    expect(await run('skills install mine/brought')).toMatchObject({ code: 0, text: expect.stringContaining('Installed brought') });
    expect(await readFile(path.join(pith.sandbox, 'skills/brought/SKILL.md'), 'utf8')).toContain('name: brought');
  });

  it.skipIf(!available)('S73 scripts run confined there too', async () => {
    const settings = 'default_agent: runner\nskills: { sources: { replace: [sandbox/skills] }, scripts: { approval: never } }\n';
    const files = { 'pith.yaml': `${settings}${SETTINGS}` };
    const kit = await scriptKernel({ 'scripts/say.sh': 'echo hello; ls /home' }, { isolation: 'process', files });
    const { ok, output } = await kit.run('scripts/say.sh');
    expect([ok, output]).toEqual([false, expect.stringContaining('/home')]);
  });
});
