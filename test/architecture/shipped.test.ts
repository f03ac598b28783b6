import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fakeClock, testKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { discover, openIndex } from '../../core/declarations/index.ts';
import { stateFolder } from '@pith/safe-files';
import { lintSkill } from '@pith/skill-files';
import { read, ROOT } from './repository.ts';

const SANDBOX = path.join(ROOT, 'sandbox');
const names = (folder: string) => readdir(path.join(SANDBOX, folder));

describe('what ships', () => {
  let data: string;
  beforeAll(async () => {
    data = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-shipped-')));
  });
  afterAll(() => rm(data, { recursive: true, force: true }));

  it('K1 every manifest loads without a finding', async () => {
    const found = await discover({
      roots: [{ directory: SANDBOX, shipped: true }],
      agentPaths: [],
      index: openIndex(stateFolder(data)),
      isEnabled: () => true,
      at: 0,
    });
    expect(found.diagnostics).toEqual([]);
    expect([...found.declarations.values()].flatMap(({ diagnostics }) => diagnostics)).toEqual([]);
    expect([...found.declarations.keys()].sort()).toEqual([...(await names('extensions')), ...(await names('agents'))].sort());
  });

  it('S81 every skill passes validation', async () => {
    const results = await Promise.all((await names('skills')).map((id) => lintSkill(id, path.join(SANDBOX, 'skills'))));
    expect(results.length).toBeGreaterThanOrEqual(4);
    expect(results.flatMap(({ diagnostics }) => diagnostics)).toEqual([]);
  });

  it('S30 every skill has a catalog line of at most 80 characters, and says when to use it', async () => {
    for (const id of await names('skills')) {
      const text = read(`sandbox/skills/${id}/SKILL.md`);
      const brief = /^brief_description: (.+)$/m.exec(text)?.[1] ?? '';
      expect(brief.length, id).toBeGreaterThan(0);
      expect(brief.length, id).toBeLessThanOrEqual(80);
      expect(/^description: (.+)$/m.exec(text)?.[1], id).toMatch(/Use (?:when|before|for)/);
    }
  });

  it('K70 K71 K80 G4 M15 M18 everything is well, every tool says which saved skills may name it, and the agents are made as the guide says', async () => {
    // Time stands still: no import is cut on a busy machine.
    const options = { sandbox: SANDBOX, flags: { data_dir: data }, env: { PITH_MODEL: 'offline/librarian' }, clock: fakeClock() };
    await using test = await testKernel(options);
    const report = await test.kernel.doctor();
    expect([...report.extensions, ...report.agents].filter(({ state }) => state !== 'active')).toEqual([]);
    expect(report.ok).toBe(true);

    const { extensions, providers } = test.kernel.host;
    const owners = extensions.list().filter(({ provides }) => provides.includes('tool'));
    const lists = await Promise.all(
      owners.map(async ({ id }) => (await providers.tools.of(id)).map((tool) => ({ ...tool, extension: id }))),
    );
    const table = read('docs/tools.md');
    for (const { name, extension, permission } of lists.flat()) {
      expect(permission, `${extension}/${name}`).toMatchObject({ authoring: expect.any(String), safeToShare: expect.any(Boolean) });
      expect(table).toContain(`| \`${name}\` | \`${extension}\` |`);
    }

    const agents = new Map((await test.kernel.agents.list()).map(({ id, spec }) => [id, spec]));
    expect(agents.get('builder_agent')).toMatchObject({ usesSkills: ['extension-development'] });
    expect(agents.get('builder_agent')?.usesTools).toEqual(expect.arrayContaining(['core_tools', 'skill_registry']));
    expect(agents.get('builder_agent')?.prompt?.trim().split('\n').length).toBeLessThanOrEqual(30);
    expect(agents.get('orchestrator')).toMatchObject({
      usesTools: expect.arrayContaining(['skill_registry', 'sandbox']),
      delegatesTo: ['*'],
    });
    expect(agents.get('orchestrator')?.prompt).toContain('Always check the available skills before starting a complex task');
    expect(test.kernel.settings.default_agent).toBe('orchestrator');

    const builder = await test.kernel.agents.preview({ agent: 'builder_agent', input: 'make an extension' });
    expect(builder.system).toContain('<skill id="extension-development"');
    expect(builder.system).toContain('You are Builder');
    const orchestrator = await test.kernel.agents.preview({ agent: 'orchestrator', input: 'review my extension' });
    expect(orchestrator.system).toContain('[Available Skills]\n');
    expect(orchestrator.system).toContain('• `extension-development` — How to create and modify extensions for Pith. ');
    expect(orchestrator.tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['list_skills', 'read_skill', 'read_skill_resource', 'delegate_task', 'builder_agent', 'find_tools']),
    );
  });
});
