import { importBundle } from '../loader/index.ts';
import { runExtensionProcess } from '../process/index.ts';

/** What `dist/process.mjs` runs. */
runExtensionProcess(importBundle);
