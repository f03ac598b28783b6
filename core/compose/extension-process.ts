import { importBundle } from '../loader/contract-shim.ts';
import { runExtensionProcess } from '../process/child/main.ts';

/** What `dist/process.js` runs. */
runExtensionProcess({
  import: importBundle,
  renderPrompt: async (prompt) => (await import('../agent/index.ts')).renderBrought(prompt),
});
