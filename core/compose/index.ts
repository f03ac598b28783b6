export { createKernel } from './compose.ts';
export { createParts, part } from './parts.ts';
export { CLOCK, LOADER, MODEL_ROUTER, PROCESS_TIER, SANDBOX, SOURCE, STORE, TIER_OF, WIRE } from './tokens.ts';
export type { DoctorReport } from './doctor.ts';
export type { Kernel, KernelOptions } from './kernel.ts';
export { ownFindings } from './findings.ts';
export { failureOf, isIgnored, NewProblems } from './problems.ts';
export { type SandboxOverview, type ShownOverview, overviewOf, shownOverview } from './sandbox-overview.ts';
export { readSandbox, sourceOf } from './sandbox-reading.ts';
