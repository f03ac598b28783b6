import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import type { ProcessTier, TierKernel } from '../../../core/kernel/index.ts';
import { bareHost } from './bare-host.ts';

const ranker = (id: string): Readonly<Record<string, string>> => ({
  [`extensions/${id}/manifest.yaml`]: `{id: ${id}, entrypoint: main.ts, provides: [tool, ${id}.ranker], defines: {protocols: {${id}.ranker: [rank]}}}`,
  [`extensions/${id}/main.ts`]: `import { defineProtocol, method } from 'pith';
const Ranker = defineProtocol('${id}.ranker', { rank: method() });
export default class {
  constructor(context) { context.provide(Ranker, { rank: async () => [] }); }
  getTools() { return []; }
}
`,
});

it('what processes are told of extensions is looked up of those alone that changed, and whether one can be reached is as it is now', async () => {
  let kernel: TierKernel | undefined;
  const processes = (given: TierKernel): ProcessTier => ((kernel = given), {} as ProcessTier);
  const { directory, host, index } = await bareHost({ ...ranker('acme'), ...ranker('bolt'), ...ranker('cask') }, { processes });
  const looked = vi.spyOn(index, 'surface');
  const told = () => ['acme', 'bolt', 'cask'].map((id) => kernel?.providersFor({ id } as never));
  try {
    const facts = (id: string, reachable = true) => ({ id, provides: [`${id}.ranker`], constants: {}, reachable });
    expect(told()).toEqual([
      [facts('bolt'), facts('cask')],
      [facts('acme'), facts('cask')],
      [facts('acme'), facts('bolt')],
    ]);
    expect(looked.mock.calls.map(([id]) => id).sort()).toEqual(['acme', 'bolt', 'cask']);
    looked.mockClear();
    await host.extensions.activate('bolt');
    writeFileSync(path.join(directory, 'extensions/cask/main.ts'), 'throw new Error("broken");\n');
    await host.extensions.refresh();
    await host.extensions.activate('cask');
    expect(told()[0]).toEqual([facts('bolt'), facts('cask', false)]);
    told();
    expect(looked.mock.calls.map(([id]) => id)).not.toContain('acme');
  } finally {
    await host.stop();
  }
});
