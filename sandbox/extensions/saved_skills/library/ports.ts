import type { ChannelProvider, Clock, ExtensionContext, Logger, Permissions, Remote } from 'pith';
import type { BoundsSettings } from '../domain/index.ts';
import type { LaneRules, RunStore } from '../runs/index.ts';
import type { SkillStore } from '../store/index.ts';

/** What saving, sharing and running need of the rest. */
export interface LibraryPorts {
  readonly skills: SkillStore;
  readonly runs: RunStore;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  readonly agents: Pick<ExtensionContext['agents'], 'check' | 'list'>;
  readonly permissions: Pick<Remote<Permissions>, 'isAdmin' | 'tools'>;
  readonly bounds: BoundsSettings;
  readonly priorityMax: number;
  /** null: the settings name no such lane. */
  readonly lane: (name: string) => LaneRules | null;
  readonly defaultLane: LaneRules;
  readonly channels: () => Promise<readonly Remote<ChannelProvider>[]>;
  /** Keeps a skill as it is now, and returns how it is found from then on; null where there is none of that name, or nothing keeps any. */
  readonly keepVersion: (name: string) => Promise<string | null>;
  /** Tables and builtins are there. */
  readonly ready: () => Promise<void>;
  /** A run waits: look at once. */
  readonly wake: () => void;
}
