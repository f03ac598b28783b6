export { runExtensionProcess } from './child-main.ts';
export { createProcessTier } from './tier.ts';
