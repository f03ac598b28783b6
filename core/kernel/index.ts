export { Calls, type Candidate, type Generation, type Tier, type Version, type ModelParts } from './calls/generation.ts';
export { type AgentKeyCheck, checkConfig, jsonSchemaOf } from './calls/schemas.ts';
export { correlationOf, DIRECT, SERIALISED, splitSignal, type Wire } from './calls/invoke.ts';
export { checkedImage, checkedImages, lineOfImage, MOST_IMAGE_DATA } from './calls/images.ts';
export { checkedEnd, givenTime, type HandlerEnd, type JobCall, jobText, type LanePolicy, type Wait } from './calls/job-calls.ts';
export { DEEPEST_VALUE, isLonger, jsonText, MOST_PARTS, toJsonValue } from './calls/json-value.ts';
export {
  DEFAULT_TIMEOUT_MS,
  KERNEL_OPERATIONS,
  type Operation,
  type OperationFacts,
  type SurfaceDescriptor,
  TURN_TOOLS,
} from './calls/surface.ts';
export { DEFAULT_TOOL_MS, type DescribedTools, requirementsOf, TOOL_NAME, type ToolDescriptor } from './calls/tools.ts';
export { type Bus, createEvents, topicOf } from './events/bus.ts';
export type { ExtensionFacts } from './extensions.ts';
export { LOG_LEVELS, readLog } from './records/read-log.ts';
export { createHost, type Host, type HostOptions } from './host.ts';
export { createCommandContext, createExtensionContext, onlyInside } from './lifecycle/extension-context.ts';
export { type ImportedClass, importCommands } from './lifecycle/extension-class.ts';
export {
  constructClass,
  importInProcess,
  PHASE_LIMIT_MS,
  STOP_LIMIT_MS,
  runPhase,
  type ProcessTier,
  type TierKernel,
  type ProviderFacts,
} from './lifecycle/tiers.ts';
export {
  grantedTier,
  type Bundle,
  type Folders,
  type HostAgents,
  type HostJobs,
  type Loader,
  type OriginalRequest,
  type Reports,
  type Rights,
  type Runtime,
  type Services,
  type TurnOrigin,
} from './lifecycle/runtime.ts';
export { createScope, type Scope } from './lifecycle/scope.ts';
export { canRun } from './lifecycle/actor.ts';
export { usesFallback, reduce } from './lifecycle/reduce.ts';
export { initialState, type Effect, type LifeEvent, type State, type Wanted } from './lifecycle/state.ts';
export type { DeclaredAgents, AgentDeclaration } from './providers/agents.ts';
export { type DeclaredCommand, firstWord } from './providers/commands.ts';
export { Postponed } from './providers/background-calls.ts';
export { CHANNELS_HANDLER, type EventHandlers } from './providers/event-handlers.ts';
export type { JobHandlers } from './providers/job-handlers.ts';
export { handleOf, unprovided } from './providers/handle.ts';
export type { Providers, DeclaredModel, RoutedProvider } from './providers/providers.ts';
export type { GuardedCall, Guards, GuardVerdict } from './providers/guards.ts';
export type { ExtensionStatus } from './providers/status.ts';
export { CLOSED_VARIABLES, renderPrompt, type PromptTemplate } from './calls/render-prompt.ts';
export { type Tools } from './providers/tools.ts';
export { extensionData, makeExtensionData } from './records/extension-data.ts';
export { ERROR_CODES, type ErrorCode, type Phase, PHASES } from './records/error-codes.ts';
export { type Failures, Problem, problemOf, readable } from './records/failures.ts';
export { logLevelOf, plainFields } from './records/logger.ts';
export { type Owner, guardProcess, runAs, runOutside } from './records/stray-errors.ts';
export { createReloadWatch, openReloadRequests } from './reload/reload-watch.ts';
