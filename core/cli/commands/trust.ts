import os from 'node:os';
import path from 'node:path';
import { PithError } from '../../contract/errors.ts';
import { printableLine } from '../../contract/printable.ts';
import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import { overviewLines, overviewOf } from '../../host/sandbox-overview.ts';
import { decideState, distrustSandbox, openTrustFile, trustSandbox, type Trust } from '../../trust/index.ts';
import { isElsewhere, locateSandbox } from '../locate.ts';
import { quoted, stateOf, trustOfTarget, wantedState, type NamedTarget } from '../opened-target.ts';

/** Shows what a sandbox brings, asks, and records that it is trusted, with its state. */
export async function trust(named: NamedTarget, input: CommandInput, io: CommandIO): Promise<number> {
  if (input.options['list'] === true) return list(io);
  const target = targetOf(named, input);
  const found = trustOfTarget({ ...target, accepts: false });
  if (found.level === 'own') {
    io.print(`${found.opened} belongs to Pith itself and is always trusted`);
    await takeState(target, found, input, io);
    io.json({ ok: true, sandbox: found.opened, trusted: true });
    return 0;
  }
  const overview = await overviewOf(found, os.homedir());
  const lines = overviewLines(overview);
  io.print(`${printableLine(overview.sandbox)} brings:`);
  for (const line of lines.length === 0 ? ['nothing that runs'] : lines) io.print(`  ${printableLine(line, 400)}`);
  if (found.level === 'restricted' && found.untrusted === null) io.print(`Look twice: ${printableLine(found.why ?? '')}.`);
  if (!(await agreed('Trust it?', input, io))) {
    io.json({ ok: false, sandbox: found.opened, trusted: found.level === 'trusted', overview: { ...overview } as never });
    return 1;
  }
  trustSandbox(found.file, found.opened, Object.fromEntries(overview.extensions.map(({ id, asks }) => [id, asks])));
  const now = trustOfTarget({ ...target, accepts: false });
  if (!io.quiet) io.print(`Trusted: ${printableLine(found.opened)}. To take it back: pith untrust ${quoted(path.dirname(found.opened))}`);
  await takeState(target, now, input, io);
  io.json({ ok: true, sandbox: found.opened, trusted: true, overview: { ...overview } as never });
  return 0;
}

export async function untrust(named: NamedTarget, input: CommandInput, io: CommandIO): Promise<number> {
  const found = trustOfTarget({ ...targetOf(named, input), accepts: false });
  if (found.level === 'own') throw new PithError('usage', `${found.opened} belongs to Pith itself and is always trusted`);
  distrustSandbox(found.file, found.opened);
  if (!io.quiet) io.print(`No longer trusted: ${printableLine(found.opened)}. A Pith that runs there goes on until it is stopped.`);
  io.json({ ok: true, sandbox: found.opened, trusted: false });
  return 0;
}

/** State that was not made by this user's Pith is used only when the person says that it is theirs. */
async function takeState(named: NamedTarget, found: Trust, input: CommandInput, io: CommandIO): Promise<void> {
  const { why } = stateOf(named, found);
  if (why === null) return;
  const wanted = wantedState(named, found);
  const question = `There is state in ${printableLine(wanted)} that this user's Pith did not mark: conversations, approvals, what was installed. Is it yours?`;
  const isTheirs = await agreed(question, input, io);
  decideState(found.file, os.homedir(), wanted, isTheirs);
  if (!io.quiet)
    io.print(isTheirs ? `The state in ${printableLine(wanted)} is used from now on` : 'It is left as it is, and fresh state is used');
}

async function agreed(question: string, input: CommandInput, io: CommandIO): Promise<boolean> {
  if (input.options['yes'] === true) return true;
  if (!io.interactive) throw new PithError('usage', 'nobody was asked: this is no terminal', { cure: 'look at it, then add --yes' });
  return (await io.ask(question, { choices: ['yes', 'no'] })) === 'yes';
}

function list(io: CommandIO): number {
  const file = openTrustFile(os.homedir());
  const problem = file.problem();
  if (problem !== null)
    throw new PithError('trust_failed', problem, { cure: 'correct the file, or move it away; until then nothing is trusted' });
  const { sandboxes, grants } = file.read();
  const rows = Object.entries(sandboxes).map(([sandbox, trusted]) => ({ sandbox, trusted, extensions: { ...grants[sandbox] } }));
  io.json(rows as never);
  for (const { sandbox, trusted } of rows) io.print(`${trusted ? 'trusted    ' : 'not trusted'}  ${printableLine(sandbox)}`);
  if (rows.length === 0) io.print('You have not decided about any sandbox yet');
  return 0;
}

/** A folder that is named may be the project or its sandbox. */
function targetOf(named: NamedTarget, input: CommandInput): NamedTarget {
  const dir = input.arguments['dir'];
  if (dir === undefined) return named;
  const from = path.resolve(named.workingDirectory ?? process.cwd(), String(dir));
  const sandbox = locateSandbox(null, from);
  if (isElsewhere(sandbox, from))
    throw new PithError('usage', `there is no sandbox in ${printableLine(from)}`, { cure: 'make one with: pith init' });
  return { ...named, sandbox, workingDirectory: from };
}
