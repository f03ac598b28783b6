import type { Command } from '../contract/protocols/command-provider.ts';
import { PithError } from '../contract/errors.ts';
import type { Kernel } from '../kernel.ts';
import type { ExtensionStatus } from '../host/host-options.ts';
import type { Boot, Target, WithheldCommand } from './boot.ts';
import { openLightHost, type LightHost } from './light-host.ts';

/** One command line's way to the kernel; the kernel is imported on first use. */
export function realBoot(): Boot {
  let kernel: Promise<Kernel> | undefined;
  let host: Promise<LightHost> | undefined;
  const full = (target: Target) => (kernel ??= makeKernel(target, host));
  const light = (target: Target) => (host ??= openLightHost(target));
  return {
    kernel: full,
    declared: async (target) => (await light(target)).commands(),
    withheld: async (target) => withheldBy(await (await light(target)).list()),
    async entry(target, { extensionId, entry, path }): Promise<readonly Command[]> {
      if (entry === undefined)
        throw new PithError(
          'manifest_invalid',
          `the command '${path}' of ${extensionId} cannot be run: it needs only the index but names no entry`,
          { cure: 'add `entry:` to it in the manifest' },
        );
      return (await light(target)).entry(extensionId, entry);
    },
    commandsOf: async (target, extensionId) => (await full(target)).extensions.commandsOf(extensionId),
    close: async () => {
      for (const made of [kernel, host])
        await made?.then(
          (part) => part.stop(),
          () => undefined,
        ); // one that could not be made has been told already
    },
  };
}

function withheldBy(extensions: readonly ExtensionStatus[]): readonly WithheldCommand[] {
  return extensions
    .filter(({ state }) => state === 'disabled' || state === 'failed' || state === 'blocked')
    .flatMap(({ id, state, message = 'it failed', manifest }) =>
      (manifest?.commands ?? []).map(({ path }) => ({ path, extensionId: id, reason: state === 'disabled' ? null : message })),
    );
}

async function makeKernel({ sandbox, trust, env, flags, workingDirectory }: Target, host: Promise<LightHost> | undefined): Promise<Kernel> {
  const [{ createKernel }, { kernelCommands }] = await Promise.all([import('../kernel.ts'), import('./commands/index.ts')]);
  return createKernel({ sandbox, trust, env, flags: { ...flags }, workingDirectory, commands: kernelCommands }, (await host)?.reading);
}
