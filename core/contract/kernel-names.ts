import type { TopicMap } from './events.ts';
import type { Protocol } from './protocol.ts';
import { ChannelProvider } from './protocols/channel-provider.ts';
import { CommandProvider } from './protocols/command-provider.ts';
import { ContextProvider } from './protocols/context-provider.ts';
import { ModelProvider } from './protocols/model-provider.ts';
import { ServiceProvider } from './protocols/service-provider.ts';
import { SetupProvider } from './protocols/setup-provider.ts';
import { SkillProvider } from './protocols/skill-provider.ts';
import { ToolProvider } from './protocols/tool-provider.ts';
import { TurnProvider } from './protocols/turn-provider.ts';

/** The protocols that the kernel itself calls, by id. All others are defined by extensions. */
export const KERNEL_PROTOCOLS: ReadonlyMap<string, Protocol> = new Map<string, Protocol>(
  [
    ToolProvider,
    ContextProvider,
    TurnProvider,
    ServiceProvider,
    SkillProvider,
    ModelProvider,
    CommandProvider,
    ChannelProvider,
    SetupProvider,
  ].map((protocol) => [protocol.id, protocol]),
);

/** A topic of the kernel. */
export interface KernelTopic {
  readonly durable: boolean;
  /** Who publishes it: the kernel alone, an extension of itself, or who names it in `events.publishes`. */
  readonly by: 'kernel' | 'itself' | 'declared';
}

const KERNEL = { durable: false, by: 'kernel' } as const;
const DURABLE = { durable: true, by: 'kernel' } as const;
const ITSELF = { durable: false, by: 'itself' } as const;
const DECLARED = { durable: true, by: 'declared' } as const;

/** The topics that the kernel publishes or handles. All others are defined by extensions. */
export const KERNEL_TOPICS: ReadonlyMap<string, KernelTopic> = new Map(
  Object.entries<KernelTopic>({
    'extension.activated': KERNEL,
    'extension.failed': KERNEL,
    'extension.reloaded': KERNEL,
    'extension.stopped': KERNEL,
    'problem.found': KERNEL,
    'agent.changed': KERNEL,
    'provider.changed': ITSELF,
    'toolset.loaded': KERNEL,
    'turn.started': KERNEL,
    'turn.ended': KERNEL,
    'tool.called': KERNEL,
    'thread.compacted': KERNEL,
    'channel.opened': ITSELF,
    'user.message': DURABLE,
    'schedule.due': DECLARED,
    'approval.requested': DURABLE,
    'approval.answered': DURABLE,
    notify: DECLARED,
  } satisfies Record<keyof TopicMap, KernelTopic>),
);
