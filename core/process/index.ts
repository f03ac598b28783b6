export { CommandCalls } from './command-bridge.ts';
export { CODEC } from './error-data.ts';
export { runExtensionProcess } from './child-main.ts';
export { KernelCalls } from './kernel-calls.ts';
export { launchHost } from './launch.ts';
export { OwnTurns } from './own-turns.ts';
export { whyTooLarge } from './data-quota.ts';
export { createProcessTier, type ProcessOptions } from './tier.ts';
