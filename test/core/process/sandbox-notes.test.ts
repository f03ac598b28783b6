import { probeSandboxing } from '@pith/held-process';
import { describe, expect, it } from 'vitest';
import { sandboxNotes } from '../../../core/kernel/providers/confinement-notes.ts';
import { testKernel } from 'pith/testing';

const MINE = {
  'extensions/mine/manifest.yaml': 'id: mine\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [tool]\n',
  'extensions/mine/main.ts': 'export default class Mine { getTools() { return []; } }\n',
};

describe('what doctor says of the sandbox', () => {
  it('K10 one note names the extensions and the cure, where the sandbox that is wanted is not there', () => {
    const missing = { available: false, why: 'bubblewrap is not installed', cure: 'install the package bubblewrap' } as const;
    const all = [
      { id: 'mine', tier: 'process', state: 'active' },
      { id: 'off', tier: 'process', state: 'disabled' },
      { id: 'shipped', tier: 'in_process', state: 'active' },
    ] as const;
    expect(sandboxNotes(missing, all)).toEqual([
      {
        severity: 'info',
        code: 'sandbox_unavailable',
        message:
          "extensions in separate processes ('mine') can read files and use the network as you can, whatever their manifests ask for: bubblewrap is not installed",
        cure: 'install the package bubblewrap',
      },
    ]);
    expect(sandboxNotes(missing, all.slice(1))).toEqual([]);
    expect(sandboxNotes(null, all)).toEqual([]);
    expect(sandboxNotes({ available: true }, all)).toEqual([]);
  });

  it('K10 doctor has it where bubblewrap does not work, and not where the settings want none', async () => {
    const { available } = await probeSandboxing();
    for (const [wanted, expected] of [
      ['auto', available ? 0 : 1],
      ['off', 0],
    ] as const) {
      await using pith = await testKernel({ files: MINE, shipped: false, isolation: 'process', flags: { extensions_sandbox: wanted } });
      const { notes } = await pith.kernel.doctor();
      expect(notes.filter(({ code }) => code === 'sandbox_unavailable')).toHaveLength(expected);
    }
  });
});
