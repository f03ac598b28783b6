export { runProcess } from './process.ts';
export { kernelCommands } from './core-commands.ts';
export { questionLines } from './commands/approval-text.ts';
export { describeError } from './terminal/report.ts';
export { openKernel, type OpenKernel, runCli } from './run.ts';
export { afterCrash, CRASH_WINDOW_MS, NO_CRASHES } from './serve/crash-policy.ts';
export type { Target } from './terminal/opened-target.ts';
