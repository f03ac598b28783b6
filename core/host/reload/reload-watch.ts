import { messageOf } from '../../contract/errors.ts';
import type { Logger } from '../../contract/index.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Refresh } from './refresh.ts';
import { openReloadRequests, type ReloadRequests } from './reload-request.ts';
import { watchFolders } from './watch.ts';

/** Keeps a running kernel in line with its folders and with reloads that are asked for in other processes. */
export interface ReloadWatch {
  /** Looks when a folder changes and every five seconds, until `close`. */
  begin(): Promise<void>;
  /** Asks the other processes; never rejects. */
  ask(extensionId: string): Promise<void>;
  close(): Promise<void>;
}

export function createReloadWatch(lifecycle: Lifecycle, refresh: Refresh, logger: Logger): ReloadWatch {
  const { options, clock } = lifecycle.parts;
  let requests: ReloadRequests | undefined;
  let watching: (() => Promise<void>) | undefined;
  const open = (): ReloadRequests => (requests ??= openReloadRequests(options.dataDirectory));

  async function look(): Promise<void> {
    try {
      await (
        await refresh.look()
      ).settled;
      await Promise.all(
        open()
          .take()
          .map((id) => refresh.reloadByHand(id)),
      );
    } catch (error) {
      logger.error('the folders could not be read again', { reason: messageOf(error) });
    }
  }

  return {
    async begin() {
      watching ??= watchFolders({ clock, folders: [...options.watched, open().folder], look });
    },
    async ask(extensionId) {
      try {
        await open().ask(extensionId);
      } catch (error) {
        logger.warn('other processes could not be asked to reload', { extensionId, reason: messageOf(error) });
      }
    },
    close: async () => watching?.(),
  };
}
