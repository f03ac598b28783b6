import type { Permissions } from '../../contract/index.ts';
import type { ExtensionStatus } from './status.ts';
import type { Tools } from './tools.ts';

/** What extensions of the kernel's process learn of administrators and of the tools that there are. */
export function permissionsOf(
  tools: Pick<Tools, 'of'>,
  statuses: () => readonly ExtensionStatus[],
  isAdmin: (userId: string) => boolean = () => false,
): Permissions {
  return {
    isAdmin: async (userId) => isAdmin(userId),
    async tools() {
      const providers = statuses().filter(({ provides, state }) => provides.includes('tool') && state !== 'disabled');
      const described = await Promise.all(
        providers.map(async ({ id: extensionId, manifest }) => {
          const found = await tools.of(extensionId).catch(() => []); // it failed, which `pith doctor` says
          return found.map(({ name, description, permission }) => ({
            extensionId,
            version: manifest?.version ?? '0.0.0',
            name,
            description,
            permission,
          }));
        }),
      );
      return described.flat();
    },
  };
}
