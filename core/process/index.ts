export { CommandCalls } from './command-bridge.ts';
export { CODEC } from './crossing.ts';
export { runExtensionProcess } from './child-main.ts';
export { KernelCalls } from './kernel-calls.ts';
export { launchHost } from './launch.ts';
export { OwnTurns } from './kernel-calls.ts';
export { whyTooLarge } from './data-quota.ts';
export { createProcessTier, type ProcessOptions } from './tier.ts';
