import { statSync } from 'node:fs';
import path from 'node:path';
import { type CommandInput, type CommandIO, type JsonValue, PithError } from '../../contract/index.ts';
import type { Kernel } from '../../compose/index.ts';
import { printableLine } from '@pith/plain-text';
import { realPathOf } from '@pith/safe-files';
import {
  decideProject,
  decideState,
  distrustSandbox,
  openPermissionsFile,
  openTrustFile,
  trustSandbox,
  type Trust,
  userHome,
} from '../../trust/index.ts';
import { agreed } from './text.ts';
import { locateTarget } from '../terminal/locate.ts';
import {
  type Line,
  lookAt,
  printOverview,
  projectQuestion,
  stateQuestion,
  TOO_MUCH,
  trustOfTarget,
  wantedState,
  type NamedTarget,
  quoted,
} from '../terminal/opened-target.ts';

/** Shows what a sandbox contains, asks, and records that it and its state are trusted. */
export async function trust({ named, io }: Line, input: CommandInput): Promise<number> {
  if (input.options['list'] === true) return list(io);
  const target = targetOf(named(), input);
  const found = trustOfTarget({ ...target, accepts: false });
  if (found.level === 'own') {
    io.print(OWN(found));
    const isTaken = await takeState(target, found, input, io);
    io.json({ ok: isTaken, sandbox: found.opened, trusted: true });
    return isTaken ? 0 : 1;
  }
  const { isAgreed, facts } = await askAbout(found, input, io);
  const isTaken = !isAgreed || found.isBare || (await takeState(target, trustOfTarget({ ...target, accepts: false }), input, io));
  io.json({ ok: isAgreed && isTaken, ...facts });
  return isAgreed && isTaken ? 0 : 1;
}

/** The same in a conversation. What the project has is used from then on; one that was not trusted is opened by the next start. */
export async function trustHere({ trust: found }: Kernel, input: CommandInput, io: CommandIO): Promise<number> {
  const dir = input.arguments['dir'];
  if (dir !== undefined && ![found.folder, found.opened].includes(realPathOf(path.resolve(io.workingDirectory, String(dir)))))
    throw new PithError('usage', 'in a conversation, /trust is for its own project only', {
      cure: `run: pith trust ${quoted(String(dir))}`,
    });
  if (found.level === 'own') return (io.print(OWN(found)), 0);
  const { isAgreed, facts } = await askAbout(found, input, io);
  io.json({ ok: isAgreed, ...facts });
  if (isAgreed && found.project === null) io.print('To work in it, leave this conversation, and start Pith again');
  return isAgreed ? 0 : 1;
}

const OWN = ({ opened }: Trust): string => `${printableLine(opened)} belongs to Pith itself and is always trusted`;

/** Shows what is there, asks, and records a yes. */
async function askAbout(
  found: Trust,
  input: CommandInput,
  io: CommandIO,
): Promise<{ readonly isAgreed: boolean; readonly facts: Readonly<Record<string, JsonValue>> }> {
  const { folder, isBare } = found;
  const isNamed = input.arguments['dir'] !== undefined;
  if (isBare && found.isWide && !isNamed)
    throw new PithError('usage', `${printableLine(folder)} has more in it than one project`, {
      cure: `go to the folder of a project, or name this one: pith trust ${quoted(folder)}`,
    });
  const { overview, ...shown } = await lookAt(found);
  if (!isBare || shown.files.length > 0) printOverview(shown, found, io);
  if (!isBare && !shown.isWhole)
    throw new PithError('restricted', TOO_MUCH, {
      where: overview.sandbox,
      cure: `shorten its settings and manifests; to be asked no more, run: pith untrust ${quoted(folder)}`,
    });
  if (found.level === 'restricted' && found.untrusted === null) io.print(`Look twice: ${printableLine(found.why ?? '')}.`);
  if (!isBare && found.level === 'trusted')
    io.print('You already trust it. If you answer yes, its extensions also get what they ask for now.');
  const isAgreed = await agreed(
    !isBare ? 'Trust it?' : found.project === null ? projectQuestion(found) : 'Use what it has now?',
    isBare ? 'add --yes' : 'read the list above, then add --yes',
    input,
    io,
  );
  if (isAgreed && !isBare) trustSandbox(found.file, found.opened, shown);
  if (isAgreed && (isBare || (isNamed && found.project === null))) decideProject(found.file, folder, shown.files); // also the home folder, by name
  if (isAgreed && !io.quiet) io.print(`Trusted: ${printableLine(found.opened)}. To take it back: pith untrust ${quoted(folder)}`);
  const trusted = isAgreed || (isBare ? found.project !== null : found.level === 'trusted');
  return {
    isAgreed,
    facts: { ...(isBare ? { project: folder } : { sandbox: found.opened }), trusted, overview: { ...overview } as never },
  };
}

export async function untrust({ named, io }: Line, input: CommandInput): Promise<number> {
  const found = trustOfTarget({ ...targetOf(named(), input), accepts: false });
  if (found.level === 'own') throw new PithError('usage', `${found.opened} belongs to Pith itself and is always trusted`);
  if (found.isBare || found.file.read().projects[found.folder] !== undefined) decideProject(found.file, found.folder, null);
  if (!found.isBare) distrustSandbox(found.file, found.opened);
  openPermissionsFile(userHome(), found.folder).clear(); // they would be valid again once it is trusted again
  if (!io.quiet)
    io.print(`No longer trusted: ${printableLine(found.opened)}. A Pith that is running there keeps running until you stop it.`);
  io.json({ ok: true, ...(found.isBare ? { project: found.folder } : { sandbox: found.opened }), trusted: false });
  return 0;
}

/** State that this user's Pith did not make is used only when the person claims it. False: they did, and it cannot be used. */
async function takeState(named: NamedTarget, found: Trust, input: CommandInput, io: CommandIO): Promise<boolean> {
  const wanted = await wantedState(named, found);
  const { why, cure } = found.state(wanted);
  if (why === null) return true;
  if (cure !== null || (input.options['state'] !== true && !io.interactive)) {
    io.error(`pith: fresh state will be used: ${printableLine(why)}; ${cure ?? 'if the old state is yours, add --state'}`);
    return input.options['state'] !== true;
  }
  const isTheirs = input.options['state'] === true || (await io.ask(stateQuestion(wanted), { choices: ['yes', 'no'] })) === 'yes';
  decideState(found.file, userHome(), wanted, isTheirs);
  if (!io.quiet)
    io.print(isTheirs ? `Pith now uses the state in ${printableLine(wanted)}` : 'That state stays as it is; Pith starts with fresh state');
  return true;
}

function list(io: CommandIO): number {
  const file = openTrustFile(userHome());
  const problem = file.problem();
  if (problem !== null)
    throw new PithError('trust_failed', problem, {
      cure: 'make the file readable or correct it, or move it away; until then nothing is trusted',
    });
  const { sandboxes, grants, projects } = file.read();
  const rows = [
    ...Object.entries(sandboxes).map(([sandbox, trusted]) => ({ sandbox, trusted, extensions: { ...grants[sandbox] } })),
    ...Object.entries(projects).map(([project, files]) => ({ project, trusted: files !== false, files: files || [] })),
  ];
  io.json(rows as never);
  for (const row of rows)
    io.print(`${row.trusted ? 'trusted    ' : 'not trusted'}  ${printableLine('sandbox' in row ? row.sandbox : row.project)}`);
  if (rows.length === 0) io.print('You have not trusted or refused any folder yet');
  return 0;
}

/** A named folder may be the project or its sandbox; without a sandbox, it is the project. */
function targetOf(named: NamedTarget, input: CommandInput): NamedTarget {
  const dir = input.arguments['dir'];
  if (dir === undefined) return named;
  const from = path.resolve(named.workingDirectory ?? process.cwd(), String(dir));
  if (statSync(from, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new PithError('usage', `${printableLine(from)} is not a folder`, { cure: 'name a folder that is there' });
  return { ...named, ...locateTarget(null, from), workingDirectory: from };
}
