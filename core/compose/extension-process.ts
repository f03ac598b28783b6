import { importBundle } from '../loader/index.ts';
import { runExtensionProcess } from '../process/index.ts';

/** What `dist/process.js` runs. */
runExtensionProcess({
  import: importBundle,
  renderPrompt: async (prompt) => (await import('../agent/index.ts')).renderBrought(prompt),
});
