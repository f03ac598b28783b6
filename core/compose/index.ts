export { createKernel } from './compose.ts';
export { type DoctorReport, ownFindings } from './doctor.ts';
export type { Kernel, KernelOptions } from './kernel.ts';
export { failureOf, isIgnored, NewProblems } from './problems.ts';
export { type SandboxOverview, type ShownOverview, overviewOf, shownOverview } from './sandbox-overview.ts';
export { readSandbox } from './sandbox-reading.ts';
