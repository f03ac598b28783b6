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
  TopicMap,
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

/** The topics that the kernel publishes or handles. All others are defined by extensions. */
export const KERNEL_TOPICS: ReadonlyMap<string, KernelTopic> = new Map(Object.entries(TopicMap));

type KernelTopic = (typeof TopicMap)[keyof TopicMap];
