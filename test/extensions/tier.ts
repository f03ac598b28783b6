/** Every extension of the suite is forced into a separate process: what reaches into the memory of the kernel by nature is skipped then. */
export const inProcesses = process.env['PITH_TEST_TIER'] === 'process';
