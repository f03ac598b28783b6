/** Every extension of the suite is forced into a process of its own: what reaches into the memory of the kernel by nature is skipped then. */
export const inProcesses = process.env['PITH_TEST_TIER'] === 'process';
