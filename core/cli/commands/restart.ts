import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import type { Kernel } from '../../kernel-surface.ts';

/** Exit code 1 where nothing could start the kernel again; then it says how a person does. */
export async function restartKernel(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<number> {
  const given = input.arguments['reason'];
  const reason = (typeof given === 'string' ? given : (given ?? []).join(' ')) || 'somebody asked for it';
  if (kernel.restarts.ask(reason)) {
    io.json({ ok: true, restarting: true });
    io.print('The kernel restarts when the running turns have ended');
    return 0;
  }
  const thread = io.session?.threadId;
  const how = `leave this conversation, then continue it with: pith chat${thread === undefined ? '' : ` --thread ${thread}`} --resume`;
  io.json({ ok: false, restarting: false, how });
  io.print(`/restart needs \`pith serve\`; here: ${how}`);
  return 1;
}
