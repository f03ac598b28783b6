import { expect, it } from 'vitest';
import { clashes } from '../../../core/compose/index.ts';

it('a command of an extension that the kernel has as well is noted, with the one that runs', async () => {
  const command = (path: string) => ({
    extensionId: 'mine',
    path,
    declared: path,
    needs: 'initialized' as const,
    entry: undefined,
    description: '',
  });
  const declared = () => [command('doctor'), command('greet')];
  const host = {
    extensions: { list: () => [], keepsNames: () => false },
    providers: { tools: { of: async () => [] }, commands: { declared } },
  } as unknown as Parameters<typeof clashes>[0];
  expect(await clashes(host, [{ path: 'doctor' }, { path: 'tools list' }])).toEqual([
    expect.objectContaining({
      code: 'name_clash',
      message: expect.stringMatching(/'doctor' is declared by 'pith itself' and 'mine'; only that of 'pith itself' runs/u),
    }),
  ]);
});
