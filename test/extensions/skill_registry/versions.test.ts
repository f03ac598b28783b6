import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { treeDigest } from '@pith/skill-files';
import { agent, call, skill, skillKernel, type SkillKernel } from './skill-kernel.ts';
import { skillSandbox, skillText } from './skill-sandbox.ts';

const FILE = 'sandbox/skills/review/SKILL.md';
const digestIn = (reference: string) => reference.slice(reference.lastIndexOf('@') + 1);
const folderOf = (id: string) => createHash('sha256').update(id).digest('hex');
const text = (version: string, body: string) => skillText({ name: 'review', more: `version: ${version}\n`, body });
const keptIn = ({ sandbox }: { readonly sandbox: string }) =>
  path.join(sandbox, 'data/extensions/skill_registry/versions', folderOf('review'));

async function registryWith(files: Readonly<Record<string, string>>) {
  const box = await skillSandbox(files);
  const registry = box.registry();
  await registry.refresh();
  const find = (named: string) => registry.versions.find(registry.current(), named);
  const rewrite = async (content: string) => {
    await box.write(FILE, content);
    await registry.refresh();
  };
  return { ...box, registry, find, rewrite, kept: keptIn(box) };
}

describe('P7 P8 kept versions of skills', () => {
  it('P8 are the whole folder under its digest, and stay as they were; keeping the same again keeps one', async () => {
    const files = { [FILE]: text('1.0.0', 'One.\n'), 'sandbox/skills/review/data.txt': 'a' };
    const { registry, find, rewrite, kept } = await registryWith(files);
    const reference = await registry.keepVersion('review');
    expect(reference).toMatch(/^review@sha256:[0-9a-f]{64}$/);
    const digest = digestIn(reference);
    expect(await registry.keepVersion('review')).toBe(reference);
    await rewrite(text('1.1.0', 'Two.\n'));
    const second = digestIn(await registry.keepVersion('review'));
    expect(second).not.toBe(digest);
    expect(readdirSync(kept).sort()).toEqual([digest, second].flatMap((each) => [each.slice(7), `${each.slice(7)}.json`]).sort());
    for (const named of ['review@1.0.0', `review@${digest}`, `review@${digest.slice(7, 19)}`, 'sandbox/skills/review@1.0.0']) {
      const found = await find(named);
      expect(found).toMatchObject({ id: 'review', source: `version:${digest}`, version: '1.0.0', state: 'offered' });
      expect((await registry.readBody(found)).body).toBe('One.\n');
    }
    expect(await registry.keepVersion('review@1.0.0')).toBe(reference);
  });

  it('P8 the version that a skill has now is kept by naming it; another that nobody kept is refused with those that are', async () => {
    const { registry, find, rewrite } = await registryWith({ [FILE]: text('1.0.0', 'One.\n') });
    const first = await find('review@1.0.0');
    await rewrite(text('1.0.0', 'Other text, same version.\n'));
    expect(await find('review@1.0.0')).toEqual(first);
    await expect(find('review@2.0.0')).rejects.toMatchObject({
      code: 'skill_not_offered',
      message: "no version '2.0.0' of skill 'review' is kept; kept are 1.0.0",
    });
    await expect(registry.keepVersion('nothing')).rejects.toMatchObject({ code: 'skill_not_found' });
  });

  it('P8 a digest is what is meant, whatever another version calls itself', async () => {
    const { registry, find, rewrite } = await registryWith({ [FILE]: text('1.0.0', 'One.\n') });
    const reference = await registry.keepVersion('review');
    const digest = digestIn(reference);
    for (const version of [digest, digest.slice(7, 19), digest.slice(7)]) {
      await rewrite(text(`"${version}"`, `Evil ${version}.\n`));
      await registry.keepVersion('review');
    }
    for (const named of [reference, `review@${digest.slice(7, 19)}`, `review@${digest.slice(7)}`])
      expect((await registry.readBody(await find(named))).body).toBe('One.\n');
  });

  it('P8 a skill without a version is kept by the digest that it has now', async () => {
    const { registry, find } = await registryWith({ [FILE]: skillText({ name: 'review', body: 'Plain.\n' }) });
    const digest = await treeDigest(registry.current().skills.get('review')!.realDirectory);
    expect(await find(`review@${digest.slice(0, 19)}`)).toMatchObject({ source: `version:${digest}` });
  });

  it('P8 a skill that is switched off, by whatever name, is off in every version', async () => {
    const box = await skillSandbox({ [FILE]: skillText({ name: 'Review It', more: 'version: 1.0.0\n' }) });
    const on = box.registry();
    await on.refresh();
    await on.keepVersion('review');
    const off = box.registry({ config: { disabled: ['Review It'] } });
    await off.refresh();
    expect(off.current().skills.get('review')).toMatchObject({ state: 'disabled' });
    await expect(off.versions.find(off.current(), 'review@1.0.0')).rejects.toMatchObject({ code: 'skill_not_offered' });
  });

  it('P8 a kept version whose files were changed is refused, also where one was added, and comes back when it is kept again', async () => {
    const { registry, find, kept } = await registryWith({ [FILE]: text('1.0.0', 'One.\n') });
    const digest = digestIn(await registry.keepVersion('review'));
    const folder = path.join(kept, digest.slice(7), 'review');
    const found = await find('review@1.0.0');
    expect(await registry.isStillTrusted(found)).toBe(true);
    writeFileSync(path.join(folder, 'more.txt'), 'more');
    const damaged = { code: 'skill_not_offered', message: expect.stringContaining('is damaged') };
    await expect(find('review@1.0.0')).rejects.toMatchObject(damaged);
    expect(await registry.isStillTrusted(found)).toBe(false);
    await registry.keepVersion('review');
    expect(await registry.isStillTrusted(found)).toBe(true);
    chmodSync(path.join(folder, 'SKILL.md'), 0o644);
    writeFileSync(path.join(folder, 'SKILL.md'), text('1.0.0', 'Not what was kept.\n'));
    expect(await registry.isStillTrusted(found)).toBe(false);
  });

  it('P8 a skill with a link is not kept, and nothing is left of the attempt', async () => {
    const { registry, project, kept } = await registryWith({ [FILE]: text('1.0.0', 'One.\n') });
    symlinkSync('/etc/hostname', path.join(project, 'sandbox/skills/review/name'));
    await expect(registry.keepVersion('review')).rejects.toMatchObject({
      code: 'version_not_kept',
      message: expect.stringContaining('it has links, or something that is not a file: name'),
    });
    expect(readdirSync(kept)).toEqual([]);
  });

  it('P8 what a killed process left of a version counts for nothing, and the next one keeps it', async () => {
    const { registry, kept } = await registryWith({ [FILE]: text('1.0.0', 'One.\n') });
    const reference = await registry.keepVersion('review');
    const digest = digestIn(reference);
    rmSync(path.join(kept, `${digest.slice(7)}.json`)); // killed before the description was written
    expect(registry.versions.of('review')).toEqual([]);
    expect(await registry.keepVersion('review')).toBe(reference);
    expect(registry.versions.of('review')).toHaveLength(1);
  });
});

describe('P8 an agent that names a version', () => {
  const tool = (answer: string) =>
    `import { defineTool, z } from 'pith';
export const list = [defineTool({ name: 'lint', description: 'd', input: z.object({}), effect: 'read', execute: () => '${answer}' })];`;
  const files = (version: string, mark: string) => ({
    ...skill('review', { more: `version: ${version}\ntoolsets: ["toolsets/index:list"]\n`, body: `BODY ${mark}\n` }),
    'skills/review/data.txt': `DATA ${mark}`,
    'skills/review/toolsets/index.ts': tool(mark),
  });
  const write = async ({ pith }: SkillKernel, given: Readonly<Record<string, string>>) => {
    for (const [file, content] of Object.entries(given)) await pith.write(file, content);
  };

  it('P8 has its body, resources and toolset from that version, while others have the present one', async () => {
    const agents = {
      ...agent('pinned', 'uses_skills: [review@1.0.0]', 'uses_tools: [skill_registry]'),
      ...agent('present', 'uses_skills: [review]', 'uses_tools: [skill_registry]'),
    };
    // By a clock that stands still, each turn waits until its toolset is open.
    const kernel = await skillKernel({ ...files('1.0.0', 'old'), ...agents }, { clock: fakeClock() });
    const steps = [call('read_skill_resource', { skill_id: 'review', path: 'data.txt' }), call('lint', {})];
    await kernel.turn('pinned', 'keep it');
    await write(kernel, files('2.0.0', 'new'));
    for (const [id, mark] of [
      ['pinned', 'old'],
      ['present', 'new'],
      ['pinned', 'old'],
    ] as const) {
      const { requests, results } = await kernel.turn(id, `go ${mark}`, ...steps);
      expect(requests[0]!.system).toContain(`BODY ${mark}`);
      expect(JSON.stringify(results[0])).toContain(`DATA ${mark}`);
      expect(results[1]).toMatchObject({ name: 'lint', ok: true, output: mark });
    }
  });

  it('P8 fails its agent where the kept versions cannot be read: it never works without', async () => {
    const { pith, model } = await skillKernel({ ...files('1.0.0', 'old'), ...agent('pinned', 'uses_skills: [review@1.0.0]') });
    rmSync(path.join(pith.sandbox, 'data/extensions/skill_registry/versions'), { recursive: true, force: true });
    mkdirSync(path.join(pith.sandbox, 'data/extensions/skill_registry'), { recursive: true });
    symlinkSync(pith.sandbox, path.join(pith.sandbox, 'data/extensions/skill_registry/versions'));
    expect((await pith.run('go', { agent: 'pinned' })).reason).toBe('error');
    expect(model.requests).toEqual([]);
  });

  it('P8 is the only one of its skill that an agent has', async () => {
    for (const names of ['review@1.0.0, review@2.0.0', 'review, review@1.0.0']) {
      const { pith } = await skillKernel({ ...files('1.0.0', 'old'), ...agent('torn', `uses_skills: [${names}]`) });
      const torn = (await pith.kernel.agents.list()).find(({ id }) => id === 'torn');
      expect([torn?.state, torn?.notes.map(({ code }) => code)], names).toEqual(['failed', expect.arrayContaining(['skill_twice'])]);
    }
  });

  it('P8 goes on with the kept version where the skill is gone', async () => {
    const kernel = await skillKernel({ ...files('1.0.0', 'old'), ...agent('pinned', 'uses_skills: [review@1.0.0]') });
    await kernel.turn('pinned', 'keep it');
    await kernel.pith.remove('skills/review');
    await kernel.pith.restart();
    expect((await kernel.turn('pinned', 'go on')).requests[0]!.system).toContain('BODY old');
  });
});

/** A kept version of a skill of a source that a person has trusted. */
async function keptOfTrusted() {
  const box = await skillSandbox({ '.claude/skills/review/SKILL.md': text('1.0.0', 'One.\n') });
  const show = async () => (await box.run('skills show', { arguments: { id: 'review@1.0.0' } })).text;
  await box.run('skills trust', { arguments: { source: '.claude/skills' } });
  expect(await show()).toContain('One.');
  const untrust = () => box.run('skills untrust', { arguments: { source: '.claude/skills' } });
  return { ...box, show, untrust, kept: keptIn(box) };
}

it('P8 taking back the trust of a source removes what was kept of it', async () => {
  const { kept, untrust } = await keptOfTrusted();
  expect(readdirSync(kept)).toHaveLength(2);
  await untrust();
  expect(existsSync(kept) ? readdirSync(kept) : []).toEqual([]);
});

it('P8 the same bytes of two sources stay for the one when the trust of the other is taken back', async () => {
  const { kept, show, untrust, write } = await keptOfTrusted();
  const file = path.join(kept, readdirSync(kept).find((name) => name.endsWith('.json')) ?? '');
  const { sources, ...description } = JSON.parse(readFileSync(file, 'utf8')) as { sources: readonly string[] };
  expect(sources).toEqual(['.claude/skills']);
  writeFileSync(file, JSON.stringify({ ...description, source: sources[0] })); // as it was before a version had several
  await write(FILE, text('1.0.0', 'One.\n'));
  expect(await show()).toContain('One.');
  await untrust();
  await write(FILE, text('2.0.0', 'Two.\n'));
  expect(await show()).toContain('One.');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ sources: ['sandbox/skills'] });
});
