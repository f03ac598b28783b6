import {
  AgentProvider,
  ChannelProvider,
  CommandProvider,
  CompactionProvider,
  ContextProvider,
  DeclarationProvider,
  ModelProvider,
  ServiceProvider,
  SetupProvider,
  SkillProvider,
  ToolGuard,
  ToolProvider,
  TurnProvider,
  type Protocol,
  type TopicMap,
} from '../contract/index.ts';

/** The protocols that the kernel itself calls, by the names of their interfaces. All others are defined by extensions. */
const INTERFACES = {
  ToolProvider,
  ContextProvider,
  TurnProvider,
  ToolGuard,
  CompactionProvider,
  ServiceProvider,
  DeclarationProvider,
  SkillProvider,
  ModelProvider,
  CommandProvider,
  ChannelProvider,
  SetupProvider,
  AgentProvider,
};

export const KERNEL_PROTOCOLS: ReadonlyMap<string, Protocol> = new Map<string, Protocol>(
  Object.values<Protocol>(INTERFACES).map((protocol) => [protocol.id, protocol]),
);

/** The interface of one of the kernel's protocols, as `pith` exports it; undefined for another's. */
export function interfaceOf(id: string): string | undefined {
  return Object.entries<Protocol>(INTERFACES).find(([, protocol]) => protocol.id === id)?.[0];
}

/** A topic of the kernel. */
interface KernelTopic {
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
    'turn.started': KERNEL,
    'turn.ended': KERNEL,
    'tool.called': KERNEL,
    'tool.progressed': ITSELF,
    'thread.compacted': KERNEL,
    'service.ready': ITSELF,
    'channel.opened': ITSELF,
    'user.message': DURABLE,
    'schedule.due': DECLARED,
    'approval.requested': DURABLE,
    'approval.answered': DURABLE,
    notify: DECLARED,
  } satisfies Record<keyof TopicMap, KernelTopic>),
);
