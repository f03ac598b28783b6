import type { Protocol, ProtocolId } from '../../contract/protocol.ts';
import { ChannelProvider } from '../../contract/protocols/channel-provider.ts';
import { CommandProvider } from '../../contract/protocols/command-provider.ts';
import { ContextProvider } from '../../contract/protocols/context-provider.ts';
import { EmbeddingProvider } from '../../contract/protocols/embedding-provider.ts';
import { ModelProvider } from '../../contract/protocols/model-provider.ts';
import { RankerProvider } from '../../contract/protocols/ranker-provider.ts';
import { ServiceProvider } from '../../contract/protocols/service-provider.ts';
import { SetupProvider } from '../../contract/protocols/setup-provider.ts';
import { SkillProvider } from '../../contract/protocols/skill-provider.ts';
import { ToolProvider } from '../../contract/protocols/tool-provider.ts';

/** Every protocol by its id in `provides`. */
export const PROTOCOLS: ReadonlyMap<ProtocolId, Protocol> = new Map<ProtocolId, Protocol>(
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

/** What an extension in a separate process reaches of others. All else acts as a person or as the kernel: commands, set-up, services, tools. */
export const REACHABLE_FROM_PROCESS: ReadonlySet<ProtocolId> = new Set<ProtocolId>(['skill', 'model', 'channel', 'embedding', 'ranker']);
