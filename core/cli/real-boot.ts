import type { Command } from '../contract/protocols/command-provider.ts';
import { PithError } from '../contract/errors.ts';
import type { ExtensionHost } from '../host/host.ts';
import type { Boot, Target } from './boot.ts';
import type { KernelPort } from './kernel-port.ts';

type BootedKernel = KernelPort & { readonly extensions: Pick<ExtensionHost, 'commands' | 'commandsOf' | 'importCommandEntry' | 'commandContext'> };

/** One command line's way to the kernel; everything behind it is imported on first use. */
export function realBoot(): Boot {
  let made: Promise<BootedKernel> | undefined;
  const kernel = (target: Target) => (made ??= makeKernel(target));
  return {
    kernel,
    declared: async (target) => (await kernel(target)).extensions.commands(),
    async entry(target, { extensionId, entry, path }): Promise<readonly Command[]> {
      if (entry === undefined) throw new PithError('manifest_invalid', `the command '${path}' of ${extensionId} cannot be run: it needs only the index but names no entry`, { cure: 'add `entry:` to it in the manifest' });
      const { extensions } = await kernel(target);
      return (await extensions.importCommandEntry(extensionId, entry))(extensions.commandContext(extensionId));
    },
    commandsOf: async (target, extensionId) => (await kernel(target)).extensions.commandsOf(extensionId),
    close: async () => {
      await made?.then((kernel) => kernel.stop(), () => undefined); // a kernel that could not be made has been told already
    },
  };
}

async function makeKernel({ sandbox, env, flags }: Target): Promise<BootedKernel> {
  const { createKernel } = (await import('../kernel.ts')) as { createKernel(options: Target): Promise<BootedKernel> };
  return createKernel({ sandbox, env, flags });
}
