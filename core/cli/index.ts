export { openKernel } from './open-kernel.ts';
export { runProcess } from './process.ts';
export { kernelCommands } from './core-commands.ts';
