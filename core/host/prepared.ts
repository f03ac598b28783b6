import type { Discovery } from './discovery/declaration.ts';
import type { IndexFile } from './discovery/index-file.ts';
import type { loadSettings } from './settings/settings.ts';

/** What the command line has read already, a moment ago, of the same sandbox with the same settings. */
export interface Prepared {
  readonly index: IndexFile;
  readonly loaded: Awaited<ReturnType<typeof loadSettings>>;
  readonly discovery: Discovery;
}
