export {
  BASE_READ_ONLY,
  DEVICE_FOLDERS,
  namespaces,
  probeSandboxing,
  PROGRAMS,
  system,
  SYSTEM_FILES,
  type Sandboxing,
} from './bubblewrap.ts';
export {
  createConfinedPrograms,
  isNowhere,
  type ConfinedOutcome,
  type ConfinedPath,
  type ConfinedProgram,
  type CoveredPath,
  type ConfinedPrograms,
} from './confined.ts';
export { Guardian } from './guardian.ts';
export { heldMemory } from './held-memory.ts';
export { watchMemory } from './memory-watch.ts';
export { HOST_VARIABLE, killHost, sweepRemains, type ExitOf } from './process-end.ts';
export { familyOf, processEntry } from './process-table.ts';
export { findProgram } from './programs.ts';
export { runProgram } from './run-program.ts';
export { startedByOther, startProcess } from './start-process.ts';
export { raiseOomScore, killWithParent, endOf } from './started.ts';
