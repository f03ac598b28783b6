/**
 * All that an extension may import: `import { … } from 'pith'`.
 *
 * Words:
 * - **Manifest**: the strict, validated value of a `manifest.yaml`; the only declaration of an extension or agent.
 * - **Extension**: a folder under `sandbox/extensions/`; an object whose abilities are the protocols that it implements.
 * - **Protocol**: a named interface, declared in the manifest's `provides` and checked by a structural guard.
 * - **Context**: `ExtensionContext`, all that an extension gets from the kernel; what it takes is released when it stops.
 * - **Agent**: frozen data (`AgentSpec`), always run by the same `runTurn`.
 * - **Skill**: a folder with a `SKILL.md`: knowledge.
 * - **SavedSkill**: a stored agent definition with inputs, limits, permissions, schedule and webhook: a row, not a folder.
 * - **Turn**: one user message to one final answer.
 * - **Thread**: the persisted messages of one conversation.
 * - **Channel**: an extension through which a person talks.
 * - **Job**: one piece of durable work: done later, once, and over crashes.
 * - **Run**: one execution of a saved skill or task, recorded.
 * - **Lane**: a named set of slots in which jobs wait and run.
 */
export { z } from 'zod';

export { CommandProvider, type Command, type CommandContext, type CommandInput, type CommandIO } from './command.ts';
export { Conversations } from './conversations.ts';
export { codeOf, messageOf, PithError, type Diagnostic, type JsonValue } from './errors.ts';
export { defineTopic, type Delivery, type Events, type PublishOptions, type Topic, TopicMap } from './events.ts';
export { Places, type Clock, type Extension, type ExtensionContext, type Logger } from './extension.ts';
export type { Job, JobInfo } from './jobs.ts';
export { ModelProvider, type LanguageModel, type ModelCallOptions, type ModelInfo, type ModelPart } from './model.ts';
export { constant, defineProtocol, method, stream, type Protocol, type Remote } from './protocol.ts';
export {
  AgentProvider,
  ChannelProvider,
  CompactionProvider,
  Bundler,
  ContextProvider,
  DeclarationProvider,
  ExtensionSettings,
  Permissions,
  ServiceProvider,
  SetupProvider,
  SkillProvider,
  ToolGuard,
  TurnProvider,
  type ChannelMessage,
  type ContextParts,
  type DynamicDeclaration,
  type SettingsChange,
  type SetupSchema,
} from './providers.ts';
export {
  defineTool,
  isToolResult,
  Tool,
  toolError,
  ToolProvider,
  toolResult,
  type ApprovalQuestion,
  type ToolCall,
  type ToolResult,
} from './tool.ts';
export type { AgentSpec, Message, TurnEvent, TurnInfo, TurnPolicy, TurnRequest, TurnSeal } from './turn.ts';
