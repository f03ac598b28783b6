/** Agents on a kernel: which there are, what a turn of one is sent, its tools behind the gate, its threads, and the turn itself. */
export { createAgents, type Agents } from './agents.ts';
export { contextSources } from './prompt/context.ts';
export { sentHistory } from './prompt/history.ts';
export { isSummary, ownText, textOfAnswer } from './prompt/messages.ts';
export { madeBy, ModelPrompt } from './prompt/request.ts';
export { checkPrompt, PROMPT_VARIABLES } from './prompt/instructions.ts';
export { type AgentRegistry, type AgentStatus, checkAgent, UNDECLARED } from './registry/registry.ts';
export type { Permission } from './threads/approval.ts';
export {
  argumentsOf,
  askersText,
  coversOf,
  shownQuestion,
  startersOfPath,
  noticeOfQuestion,
  summaryOf,
  unknownApproval,
  type Approval,
  type ApprovalAnswer,
  type ApprovalReply,
  type ApprovalStore,
  type PersonApprovals,
} from './threads/approval.ts';
export type { TracedTurn, TurnHead } from './threads/traces.ts';
export { createConversations } from './conversations.ts';
export { conversationRows } from './threads/sqlite-conversations.ts';
export { createThreadQueue, createThreadWork } from './threads/queue.ts';
export { createThreadStores, type ThreadStores } from './threads/stores.ts';
export type { ThreadLog } from './threads/thread-log.ts';
export { sumOf } from './turn/call-tree.ts';
export type { CallRecord, StoredMessage, Threads, ThreadWriter, TurnEndReason, TurnRecord, Usage } from './threads/thread.ts';
export { resolveTools, type ToolHost } from './tools/tools.ts';
export { type PromptPreview } from './turn/plan.ts';
export type { ToolQuestion } from './turn/tool-caller.ts';
export { sealedThreads } from './threads/sealed-threads.ts';
export { createSqliteThreads } from './threads/sqlite-threads.ts';
export { createSqliteApprovals } from './threads/sqlite-approvals.ts';
