import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import type { KernelPort } from '../kernel-port.ts';

/** Calls that need approval are refused for now, so nothing ever waits. */
export async function listApprovals(_kernel: KernelPort, _input: CommandInput, io: CommandIO): Promise<void> {
  io.json([]);
  io.print('No open approvals');
}
