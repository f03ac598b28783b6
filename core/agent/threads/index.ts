/** Conversations and what people are asked in them: rows, questions, and the right to work on a thread. */
export type {
  CallRecord,
  CallState,
  Charge,
  Delegated,
  StoredMessage,
  ThreadRecord,
  Threads,
  ThreadWriter,
  TurnRecord,
  TurnState,
  Unfinished,
} from './thread.ts';
export { decisionFrom, OPEN_MS, startersOfPath, stateOfQuestion, unknownApproval } from './approval.ts';
export type {
  Approval,
  ApprovalAnswer,
  ApprovalReply,
  ApprovalStore,
  Approvals,
  AskingTurn,
  PersonApprovals,
  Question,
} from './approval.ts';
export { createThreadQueue, type ThreadHold, type ThreadQueue } from './queue.ts';
export { createThreadStores, type ThreadStores } from './stores.ts';
