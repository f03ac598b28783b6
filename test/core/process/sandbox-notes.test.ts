import type * as heldProcess from '@pith/supervised-process';
import { expect, it, vi } from 'vitest';
import { testKernel } from 'pith/testing';

const missing = { available: false, why: 'bubblewrap is not installed', cure: 'install the package bubblewrap' };
const machine = vi.hoisted(() => ({ bubblewrap: {} as object }));
vi.mock('@pith/supervised-process', async (original) => ({
  ...(await original<typeof heldProcess>()),
  probeSandboxing: async () => machine.bubblewrap,
}));

const extension = (id: string, more = '') => ({
  [`extensions/${id}/manifest.yaml`]: `id: ${id}\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [tool]\n${more}`,
  [`extensions/${id}/main.ts`]: 'export default class Mine { getTools() { return []; } }\n',
});

it.each([
  ['not there', missing, 'auto', extension('mine'), 1],
  ['not there, and nothing runs in a process', missing, 'auto', {}, 0],
  ['not wanted', missing, 'off', extension('mine'), 0],
  ['there', { available: true, program: '/usr/bin/bwrap' }, 'auto', extension('mine'), 0],
] as const)(
  'K10 doctor has one note that names the extensions and the cure where bubblewrap is %s',
  async (_, bubblewrap, wanted, mine, notes) => {
    machine.bubblewrap = bubblewrap;
    const files = { ...mine, ...extension('off', 'enabled: false\n'), ...extension('shipped') };
    const flags = { extensions_sandbox: wanted, extensions: { shipped: { isolation: 'in_process' as const } } };
    await using pith = await testKernel({ files, only: [], isolation: 'process', flags });
    const found = (await pith.kernel.doctor()).notes.filter(({ code }) => code === 'sandbox_unavailable');
    const note = {
      severity: 'info',
      code: 'sandbox_unavailable',
      message:
        "extensions in separate processes ('mine') can read files and use the network as you can, whatever their manifests ask for: bubblewrap is not installed",
      cure: 'install the package bubblewrap',
    };
    expect(found).toEqual(notes === 1 ? [note] : []);
  },
);
