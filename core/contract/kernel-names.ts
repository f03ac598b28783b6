import type { Protocol } from './protocol.ts';
import { ChannelProvider } from './protocols/channel-provider.ts';
import { CommandProvider } from './protocols/command-provider.ts';
import { ContextProvider } from './protocols/context-provider.ts';
import { EmbeddingProvider } from './protocols/embedding-provider.ts';
import { ModelProvider } from './protocols/model-provider.ts';
import { RankerProvider } from './protocols/ranker-provider.ts';
import { ServiceProvider } from './protocols/service-provider.ts';
import { SetupProvider } from './protocols/setup-provider.ts';
import { SkillProvider } from './protocols/skill-provider.ts';
import { ToolProvider } from './protocols/tool-provider.ts';

/** The protocols that the kernel itself calls, by id. All others are defined by extensions. */
export const KERNEL_PROTOCOLS: ReadonlyMap<string, Protocol> = new Map<string, Protocol>(
  [
    ToolProvider,
    ContextProvider,
    ServiceProvider,
    SkillProvider,
    ModelProvider,
    CommandProvider,
    ChannelProvider,
    SetupProvider,
    EmbeddingProvider,
    RankerProvider,
  ].map((protocol) => [protocol.id, protocol]),
);
