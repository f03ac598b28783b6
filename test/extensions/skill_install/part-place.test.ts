import { expect, it, onTestFinished, vi } from 'vitest';
import { Jail, refusalOf } from '@pith/safe-files';
import { partPlace } from '../../../sandbox/extensions/skill_install/install/plugin-parts.ts';
import type { StagedItem } from '../../../sandbox/extensions/skill_install/install/staged-skill.ts';
import type { InstallContext } from '../../../sandbox/extensions/skill_install/install-context.ts';
import type { SkillPlace } from 'pith/skill_registry';
import { folderWith } from '../../places.ts';

it('S83 a place that cannot be written is said, and a failure of the system is none of the place', async () => {
  const [sandbox, directory] = [folderWith(), folderWith({ 'fresh.md': 'Say hello.\n' })];
  const context = { use: () => ({ sandbox, shippedSandbox: sandbox, home: null }) } as unknown as InstallContext;
  const place = partPlace(context, { source: 'project' } as SkillPlace);
  const stage = vi.spyOn(Jail.prototype, 'stage');
  onTestFinished(() => stage.mockRestore());
  const put = (code: string) => {
    const failure = refusalOf(Object.assign(new Error(code), { code }), 'recipes/fresh.md') as Error;
    stage.mockRejectedValueOnce(failure);
    return { failure, done: place.put({ kind: 'recipe', id: 'fresh', directory } as StagedItem) };
  };
  for (const code of ['EACCES', 'EROFS', 'ENOSPC', 'ELOOP'])
    expect(await put(code).done, code).toMatchObject({ code: 'place_unusable', cure: expect.any(String) });
  for (const code of ['EMFILE', 'EIO', 'ENOMEM']) {
    const { failure, done } = put(code);
    await expect(done, code).rejects.toBe(failure);
  }
});
