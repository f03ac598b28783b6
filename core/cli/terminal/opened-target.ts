import { printableLine } from '@pith/plain-text';
import type { CommandIO, Places } from '../../contract/index.ts';
import { loadSettings, shippedSandbox } from '../../declarations/index.ts';
import {
  decideProject,
  decideState,
  distrustSandbox,
  trustOf,
  trustSandbox,
  type StatePlace,
  type Trust,
  userHome,
} from '../../trust/index.ts';
import type { Kernel, SandboxOverview, ShownOverview } from '../../compose/index.ts';

/** The opened target of a command line. */
export interface Target {
  /** Absolute: the opened sandbox. */
  readonly sandbox: string;
  readonly trust: Trust;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Words with two dashes on the line, without the dashes: extensions may declare them. */
  readonly switches?: readonly string[];
  /** The options of `pith serve`. */
  readonly serve?: Places['serve'];
  /** The base of relative paths in the environment; default: the process's working directory. */
  readonly workingDirectory?: string;
}

/** The target of a command line before anybody is asked. */
export interface NamedTarget extends Omit<Target, 'trust' | 'sandbox'> {
  /** Absolute: the sandbox that was named or found. */
  readonly sandbox: string;
  /** Absolute: the project without a sandbox that was found instead; null or absent: there is one. */
  readonly bareProject?: string | null;
  /** `--trust`, or PITH_TRUST=1. */
  readonly accepts: boolean;
}

/** A running command line. */
export interface Line {
  readonly cwd: string;
  readonly io: CommandIO;
  readonly signal: AbortSignal;
  readonly named: () => NamedTarget;
  /** Opens the sandbox on first use, since a person may be asked about it. */
  readonly target: () => Promise<Target>;
  /** The one kernel of this command line. */
  readonly kernel: (serve?: Places['serve']) => Promise<Kernel>;
}

export function trustOfTarget(named: Pick<NamedTarget, 'sandbox' | 'bareProject' | 'accepts' | 'workingDirectory'>): Trust {
  const { sandbox, bareProject, accepts, workingDirectory = process.cwd() } = named;
  return trustOf({ sandbox, bareProject, shipped: shippedSandbox(), home: userHome(), accepts, workingDirectory });
}

interface Opening {
  /** Once, on a terminal. */
  readonly asks: boolean;
  /** Restrictions, in one line. False: whoever started this process has reported them. */
  readonly reports: boolean;
}

/** The target with the person's decision about it. */
export async function openTarget(named: NamedTarget, io: CommandIO, { asks, reports }: Opening): Promise<Target> {
  const report = (text: string): void => (reports ? io.error(text) : undefined);
  let trust = trustOfTarget(named);
  if (asks && io.interactive && trust.isOpen) {
    await (trust.isBare ? askAboutProject(trust, io) : askAboutSandbox(trust, io));
    trust = trustOfTarget(named);
  }
  const folder = quoted(trust.folder);
  if (trust.level === 'restricted') {
    const why = `${printableLine(trust.opened)}: ${printableLine(trust.why ?? '')}, so only what ships with Pith is used`;
    const cure =
      trust.file.problem() === null ? `to see what it brings and to trust it, run: pith trust ${folder}` : 'see: pith trust --list';
    report(`pith: restricted ${why}; ${cure}`);
  } else {
    const wanted = await wantedState(named, trust);
    if (asks && io.interactive && trust.state(wanted).isOpen) await askAboutState(wanted, trust, io);
    const found = trust.state(wanted);
    const { why } = found;
    if (why !== null) report(`pith: started with fresh state: ${printableLine(why)}; ${stateCure(found, folder)}`);
  }
  return { ...named, sandbox: trust.isBare ? trust.sandbox : trust.opened, trust };
}

/** Where the settings want the state of a target. */
export async function wantedState({ env, workingDirectory = process.cwd() }: NamedTarget, trust: Trust): Promise<string> {
  return (await loadSettings({ sandbox: trust.isBare ? trust.sandbox : trust.opened, home: userHome(), env, workingDirectory })).settings
    .data_dir;
}

/** Collects what a sandbox contains, for a person. */
export async function lookAt(trust: Trust): Promise<ShownOverview & { readonly overview: SandboxOverview }> {
  const { overviewOf, shownOverview } = await import('../../compose/index.ts');
  const overview = await overviewOf(trust, userHome());
  return { overview, ...shownOverview(overview) };
}

export function printOverview({ lines }: ShownOverview, trust: Trust, io: CommandIO): void {
  io.print(`${printableLine(trust.opened)} ${trust.isBare ? 'has' : 'brings'}:`);
  for (const line of lines) io.print(`  ${line}`);
}

export const TOO_MUCH = 'this sandbox brings more than Pith can show, so you can trust it for one command only, with --trust';

/** What to do about state that is not used. */
export function stateCure({ cure }: StatePlace, folder: string): string {
  return cure ?? `if the old state is yours, run: pith trust ${folder} --yes --state`;
}

/** The question about state that nobody claimed. */
export function stateQuestion(dataDirectory: string): string {
  return `There is state in ${printableLine(dataDirectory)} that this user's Pith did not mark: conversations, approvals, what was installed. Is it yours?`;
}

/** Asks and records the answer, yes or no. A sandbox with too much to show stays restricted without a question. */
async function askAboutSandbox(trust: Trust, io: CommandIO): Promise<void> {
  const shown = await lookAt(trust);
  if (!shown.isWhole) return io.print(`${TOO_MUCH}; to see it: pith trust ${quoted(trust.folder)}`);
  io.print('You have not yet decided whether you trust this folder.');
  printOverview(shown, trust, io);
  const question = 'Do you trust this folder? If you answer no, Pith uses only its own parts and nothing from this folder.';
  const answer = await io.ask(question, { choices: ['yes', 'no'] });
  if (answer === 'yes') trustSandbox(trust.file, trust.opened, shown);
  else if (answer === 'no') distrustSandbox(trust.file, trust.opened);
}

/** One question about a project without a sandbox, whether or not it has files that Pith would use. */
async function askAboutProject(trust: Trust, io: CommandIO): Promise<void> {
  const shown = await lookAt(trust);
  if (shown.files.length > 0) {
    io.print('You have not yet decided whether you trust this folder.');
    printOverview(shown, trust, io);
  }
  const answer = await io.ask(projectQuestion(trust), { choices: ['yes', 'no'] });
  if (answer !== null) decideProject(trust.file, trust.folder, answer === 'yes' ? shown.files : null);
}

export function projectQuestion({ folder }: Trust): string {
  return `Work in ${printableLine(folder)}? Pith's agent may read its files; it asks you before it changes anything or runs a command.`;
}

async function askAboutState(wanted: string, trust: Trust, io: CommandIO): Promise<void> {
  const answer = await io.ask(stateQuestion(wanted), { choices: ['yes', 'no'] });
  if (answer !== null) decideState(trust.file, userHome(), wanted, answer === 'yes');
}

/** Quoted for a shell; a path that cannot be shown is described in words. */
export function quoted(text: string): string {
  if (/^[\w./~@:+,-]+$/.test(text)) return text;
  return printableLine(text) === text ? `'${text.replaceAll("'", "'\\''")}'` : '<its folder>';
}
