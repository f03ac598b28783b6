import { resolve } from 'node:path';
import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import type { Kernel } from '../../kernel-surface.ts';
import { findingLine } from './text.ts';

/** Exit code 1 when something is wrong with it. */
export async function probeFolder(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  if (input.options['how'] === true) return sayHow(kernel, io);
  const { id, ok, findings, tools, tried } = await kernel.probe(resolve(String(input.arguments['dir'])), signal);
  io.json({ id, ok, findings: findings.map((each) => ({ ...each })), tools: tools.map((each) => ({ ...each })), tried: [...tried] });
  for (const finding of findings) io.print(`${finding.check}: ${findingLine(finding)}`);
  if (!io.quiet) io.print(ok ? `${id} loads${tried.length > 0 ? `; tried: ${tried.join(', ')}` : ''}` : `${id} does not pass`);
  return ok ? 0 : 1;
}

async function sayHow(kernel: Kernel, io: CommandIO): Promise<number> {
  const why = await kernel.unconfined();
  io.json({ confined: why === null, why });
  io.print(why === null ? 'its code is held by bubblewrap' : `its code runs as you: ${why}`);
  return 0;
}
