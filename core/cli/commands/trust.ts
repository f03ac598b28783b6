import { statSync } from 'node:fs';
import path from 'node:path';
import { type CommandInput, type CommandIO, PithError } from '../../contract/index.ts';
import { printableLine } from '@pith/plain-text';
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
    io.print(`${found.opened} belongs to Pith itself and is always trusted`);
    const isTaken = await takeState(target, found, input, io);
    io.json({ ok: isTaken, sandbox: found.opened, trusted: true });
    return isTaken ? 0 : 1;
  }
  if (found.isBare) return trustProject(target, found, input, io);
  const { overview, ...shown } = await lookAt(found);
  printOverview(shown, found, io);
  if (!shown.isWhole)
    throw new PithError('restricted', TOO_MUCH, {
      where: overview.sandbox,
      cure: `shorten its settings and manifests; to be asked no more, run: pith untrust ${quoted(found.folder)}`,
    });
  if (found.level === 'restricted' && found.untrusted === null) io.print(`Look twice: ${printableLine(found.why ?? '')}.`);
  if (found.level === 'trusted') io.print('You already trust it. If you answer yes, its extensions also get what they ask for now.');
  if (!(await agreed('Trust it?', 'read the list above, then add --yes', input, io))) {
    io.json({ ok: false, sandbox: found.opened, trusted: found.level === 'trusted', overview: { ...overview } as never });
    return 1;
  }
  trustSandbox(found.file, found.opened, shown);
  if (input.arguments['dir'] !== undefined && found.project === null) decideProject(found.file, found.folder, shown.files); // also the home folder, by name
  const now = trustOfTarget({ ...target, accepts: false });
  if (!io.quiet) io.print(`Trusted: ${printableLine(found.opened)}. To take it back: pith untrust ${quoted(found.folder)}`);
  const isTaken = await takeState(target, now, input, io);
  io.json({ ok: isTaken, sandbox: found.opened, trusted: true, overview: { ...overview } as never });
  return isTaken ? 0 : 1;
}

/** A project without a sandbox, whose state is outside of it. */
async function trustProject(target: NamedTarget, found: Trust, input: CommandInput, io: CommandIO): Promise<number> {
  const { overview, files, ...shown } = await lookAt(found);
  const { folder } = found;
  if (found.isWide && input.arguments['dir'] === undefined)
    throw new PithError('usage', `${printableLine(folder)} has more in it than one project`, {
      cure: `go to the folder of a project, or name this one: pith trust ${quoted(folder)}`,
    });
  if (files.length > 0) printOverview({ ...shown, files }, found, io);
  if (found.level === 'restricted' && found.untrusted === null) io.print(`Look twice: ${printableLine(found.why ?? '')}.`);
  const isAgreed = await agreed(projectQuestion(found), 'add --yes', input, io);
  if (isAgreed) decideProject(found.file, folder, files);
  if (isAgreed && !io.quiet) io.print(`Trusted: ${printableLine(folder)}. To take it back: pith untrust ${quoted(folder)}`);
  const { project } = trustOfTarget({ ...target, accepts: false });
  io.json({ ok: isAgreed, project: folder, trusted: project !== null, overview: { ...overview } as never });
  return isAgreed ? 0 : 1;
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
