import { existsSync } from 'node:fs';
import { type Clock, codeOf, type Command, type Diagnostic, messageOf, PithError, SkillProvider } from '../contract/index.ts';
import { canRun, extensionData, type ExtensionStatus, firstWord, type Host } from '../kernel/index.ts';
import { checkDatabase } from '../store/index.ts';
import type { JobRow, JobStore, StoppedExtension } from '../durable/index.ts';
import { jobFindings } from './job-findings.ts';
import type { ModelRouter } from '../models/index.ts';
import type { Findings } from './findings.ts';
import { fails, isIgnored } from './problems.ts';
import type { SandboxReading } from './sandbox-reading.ts';
import { exportFindings, foldersOf } from './span-export.ts';
import type { Trust } from '../trust/index.ts';
import type { Agents, AgentStatus } from '../agent/index.ts';

/** The shape of `pith doctor --json`; `ok` is false when an extension, an agent or the settings failed. */
export interface DoctorReport {
  /** The sandbox that was opened, the project that may be used, and whether they are the person's. */
  readonly sandbox?: {
    readonly path: string;
    readonly project: string | null;
    readonly trust: Trust['level'];
    readonly why: string | null;
    readonly state: string;
  };
  readonly ok: boolean;
  readonly model: { readonly ref: string; readonly why: string };
  readonly extensions: readonly ExtensionReport[];
  readonly agents: readonly AgentReport[];
  /** Counts by state. */
  readonly skills: Readonly<Record<string, number>>;
  /** Findings of settings and discovery, on what is kept, and of extensions on their own matters. */
  readonly notes: readonly Diagnostic[];
}

type Finding = Partial<Pick<ExtensionStatus, 'code' | 'message' | 'file' | 'line' | 'cure'>>;
export type ExtensionReport = Pick<ExtensionStatus, 'id' | 'state' | 'tier' | 'phase' | 'notes'> &
  Finding & {
    /** It runs without something that was written for it. */
    readonly degraded?: true;
  };
export type AgentReport = Pick<AgentStatus, 'id' | 'state'> & Finding & { readonly notes: readonly Diagnostic[] };

interface DoctorDependencies {
  readonly sandbox: SandboxReading;
  readonly host: Host;
  readonly agents: Pick<Agents, 'list' | 'tryGuards'>;
  readonly router: ModelRouter;
  readonly findings: Findings;
  readonly clock: Clock;
  /** Of the kernel itself. */
  readonly commands: readonly { readonly path: string }[];
  /** What a kernel that runs in any process stopped because it kept crashing. */
  stopped(): Promise<readonly StoppedExtension[]>;
  /** Events that could not be delivered. */
  deliveries(): Promise<readonly Diagnostic[]>;
  jobs(): JobStore;
}

/** Loads, constructs and initialises every enabled extension, side by side, asks each guard once, and says what came of it. */
export async function examine(dependencies: DoctorDependencies): Promise<DoctorReport> {
  const { sandbox, host, agents, router, findings, commands } = dependencies;
  await host.extensions.activateAll();
  const listed = await agents.list();
  const spec = listed.find((each) => each.spec !== null)?.spec;
  if (spec) await agents.tryGuards(spec);
  const stopped = await stoppedElsewhere(dependencies);
  const extensions = host.extensions
    .list() // with what was wrong in the agents that they bring
    .map((status) => extensionReport(asItRuns(status, stopped)));
  const { model, notes: ofModel } = await examineModel(router, findings);
  const problems = await modelProblems(listed, model.ref, router);
  const checked = listed.map((status) => agentReport(sandbox.unread ? status : withModel(status, host, problems)));
  const kept = await keptFindings(dependencies, host.extensions.discovery.declarations.values());
  const ofNames = [...(await clashes(host, commands)), ...(await hiddenCommands(host, commands))];
  const ofHost = [...ofNames, ...(await host.providers.findings()), ...(await host.sandboxNotes())];
  const { skills, uncounted } = await countSkills(host);
  const ofSpans = exportFindings(sandbox.options.env, foldersOf(sandbox.options.trust));
  const notes = [...ofModel, ...ofSpans, ...findings.list(), ...kept, ...(await ofDurable(dependencies, kept)), ...uncounted, ...ofHost];
  const failed =
    extensions.some((extension) => fails(extension) || extension.notes.some(isIgnored)) ||
    checked.some(({ state, notes: found }) => state === 'failed' || found.some((note) => note.severity === 'error' || isIgnored(note))) ||
    notes.some(({ severity }) => severity === 'error') ||
    model.ref === 'none';
  const report = host.secrets.redactJson({ ok: !failed, model, extensions, agents: checked, skills, notes });
  const { trust } = sandbox.options;
  const { level, why, project, isBare, opened } = trust;
  const place = isBare ? trust.sandbox : opened;
  return { sandbox: { path: place, project, trust: level, why, state: sandbox.settings.data_dir }, ...report };
}

/** The model of `default`, and what is to be said of it that no finding on the settings says, such as why no message can be sent to it. */
async function examineModel(
  router: ModelRouter,
  findings: Findings,
): Promise<{ readonly model: DoctorReport['model']; readonly notes: readonly Diagnostic[] }> {
  try {
    const { ref, why, unused } = await router.choose();
    const problem = await router.problem();
    const cure = 'choose a model of its provider, or unset it';
    const notes: Diagnostic[] = unused === undefined ? [] : [{ severity: 'info', code: 'address_unused', message: unused, cure }];
    return { model: { ref, why }, notes: [...(problem === null ? [] : [unsentFinding(` to ${ref}`, problem)]), ...notes] };
  } catch (error) {
    const why = messageOf(error);
    const isReported = findings.list().some(({ severity, message }) => severity === 'error' && message.includes(why));
    return { model: { ref: 'none', why }, notes: isReported ? [] : [unsentFinding('', error)] };
  }
}

function unsentFinding(to: string, error: unknown): Diagnostic {
  const cure = (error instanceof PithError ? error.cure : undefined) ?? 'choose another: pith setup';
  return { severity: 'error', code: codeOf(error, 'model_unreachable'), message: `no message can be sent${to}: ${messageOf(error)}`, cure };
}

/** On the database, and on extensions that keep more than they may. */
async function keptFindings(
  { sandbox: { databaseFile, settings }, clock }: DoctorDependencies,
  extensions: Iterable<{ readonly id: string }>,
): Promise<readonly Diagnostic[]> {
  const { whyTooLarge } = await import('../process/index.ts');
  const found: Diagnostic[] = [...checkDatabase(databaseFile, () => clock.now())];
  for (const { id } of extensions) {
    const { path } = extensionData(settings.data_dir, id);
    const why = await whyTooLarge(path, settings.quotas.data_mb);
    if (why === null) continue;
    const cure = 'remove what is not needed there, or raise quotas.data_mb';
    found.push({ severity: 'error', code: 'quota_exceeded', message: `extension '${id}': ${why}`, file: path, cure });
  }
  return found;
}

/** Its services run in another process, which has stopped it: what loads well here does not run. */
function asItRuns(status: ExtensionStatus, stopped: readonly StoppedExtension[]): ExtensionStatus {
  const found = stopped.find(({ extensionId }) => extensionId === status.id);
  if (found === undefined || (status.state !== 'active' && status.state !== 'idle')) return status;
  const { extensionId: _, message, ...place } = found;
  const failed = { state: 'failed', phase: 'background', code: 'breaker_open', message: `in the Pith that runs: ${message}` } as const;
  return { ...status, file: undefined, line: undefined, cure: undefined, ...failed, ...place };
}

async function stoppedElsewhere({ sandbox, stopped }: DoctorDependencies): Promise<readonly StoppedExtension[]> {
  try {
    return existsSync(sandbox.databaseFile) ? await stopped() : [];
  } catch {
    return []; // the rows of deliveries cannot be read either, and that is said
  }
}

/** On events and jobs. They are rows: where the rows cannot be read that is said once. */
async function ofDurable(dependencies: DoctorDependencies, kept: readonly Diagnostic[]): Promise<readonly Diagnostic[]> {
  const { sandbox, host, clock, deliveries, jobs } = dependencies;
  try {
    if (!existsSync(sandbox.databaseFile)) return [];
    const retryWith = (name: string) => host.jobs.declared().get(name)?.retry_with;
    const ofJobs = jobFindings({ store: jobs(), now: clock.now(), whyNot: (job) => whyNot(host, job), retryWith });
    return (await Promise.all([deliveries(), ofJobs])).flat();
  } catch (error) {
    if (kept.some(({ severity }) => severity === 'error')) return [];
    const cure = (error instanceof PithError ? error.cure : undefined) ?? 'stop what else uses the data folder, then run: pith doctor';
    return [{ severity: 'error', code: codeOf(error, 'database_failed'), message: messageOf(error), file: sandbox.databaseFile, cure }];
  }
}

/** Why no process works on a job, as long as its extension is as it is. */
function whyNot({ extensions, jobs }: Host, { name, version }: JobRow): Pick<Diagnostic, 'message' | 'cure'> | null {
  const [id = '', own] = name.split('.');
  const state = extensions.state(id);
  const declared = jobs.declared().get(`${id}.${own}`);
  const drop = `or cancel them: pith jobs cancel --name ${name}`;
  if (state === undefined) return { message: `there is no extension '${id}'`, cure: `bring it back, ${drop}` };
  if (state === 'disabled') return { message: `the extension '${id}' is off`, cure: `switch it on, ${drop}` };
  if (!canRun(state)) return { message: `the extension '${id}' does not run`, cure: 'fix the problems that are listed above' };
  if (declared === undefined) return { message: `'${id}' has no such job any more`, cure: `bring it back, ${drop}` };
  return version > declared.version ? { message: `a newer '${id}' made them`, cure: `bring that back, ${drop}` } : null;
}

async function countSkills({ providers }: Named): Promise<Pick<DoctorReport, 'skills'> & { readonly uncounted: readonly Diagnostic[] }> {
  const skills: Record<string, number> = { offered: 0, invalid: 0 };
  try {
    for (const { state } of (await (await providers.active(SkillProvider))[0]?.listSkills()) ?? [])
      skills[state] = (skills[state] ?? 0) + 1;
    return { skills, uncounted: [] };
  } catch (error) {
    return { skills, uncounted: [{ severity: 'error', code: 'provider_failed', message: `skills cannot be listed: ${messageOf(error)}` }] };
  }
}

function extensionReport(status: ExtensionStatus): ExtensionReport {
  const { id, state, tier, phase, code, message, file, line, cure, notes } = status;
  const isDegraded = (state === 'active' || state === 'idle') && notes.some(isIgnored);
  return { id, state, ...(isDegraded ? { degraded: true } : {}), tier, phase, code, message, file, line, cure, notes };
}

function agentReport({ id, state, notes }: AgentStatus): AgentReport {
  const worst = notes.find(({ severity }) => severity === 'error') ?? notes.find(({ severity }) => severity === 'warning');
  return { id, state, code: worst?.code, message: worst?.message, file: worst?.file, line: worst?.line, cure: worst?.cure, notes };
}

/** What is wrong with the models of agents, by their names there; their servers are asked. That of `default` is reported once, for all. */
async function modelProblems(
  agents: readonly Pick<AgentStatus, 'spec'>[],
  defaultRef: string,
  router: ModelRouter,
): Promise<ReadonlyMap<string, unknown>> {
  const names = [...new Set(agents.flatMap(({ spec }) => spec?.model ?? []))];
  const problems = names.map(async (name): Promise<unknown> => {
    try {
      const target = router.check(name);
      return target === 'default' || target === defaultRef ? null : await router.problem(target);
    } catch (error) {
      return error;
    }
  });
  const found = await Promise.all(problems);
  return new Map(names.flatMap((name, at) => (found[at] === null ? [] : [[name, found[at]]])));
}

/** Its status with what is wrong with its model. Another model can be named, so it has not failed. */
function withModel(status: AgentStatus, host: Host, problems: ReadonlyMap<string, unknown>): AgentStatus {
  const { id, spec } = status;
  if (spec === null || !problems.has(spec.model)) return status;
  const error = problems.get(spec.model);
  const line = host.extensions.discovery.declarations.get(id)?.positions?.['agent.model']?.[0];
  const code = codeOf(error, 'model_unknown');
  const isAway = code === 'model_unreachable' || code === 'model_auth' || code === 'secret_not_given'; // it may be there when it is used
  const note: Diagnostic = {
    severity: isAway ? 'warning' : 'error',
    code,
    message: messageOf(error),
    ...(spec.origin === null ? {} : { file: spec.origin }),
    ...(line === undefined ? {} : { line }),
    cure: (error instanceof PithError ? error.cure : undefined) ?? 'correct the name of its model',
  };
  return { ...status, state: status.state === 'active' && !isAway ? 'degraded' : status.state, notes: [...status.notes, note] };
}

/** Where names and findings are looked up. */
type Named = Pick<Host, 'extensions' | 'providers'>;

/** Commands that give way to others; `taken`: commands of the kernel. Ask when everything has been activated. */
async function hiddenCommands(
  { extensions, providers }: Named,
  taken: readonly { readonly path: string }[] = [],
): Promise<readonly Diagnostic[]> {
  const active = extensions.list().filter(({ state, provides }) => state === 'active' && provides.includes('command'));
  const lists = await Promise.all(active.map(({ id }) => providers.commands.of(id).catch((): readonly Command[] => []))); // told as failed
  const commands = lists.flat();
  const strangers = new Set(commands.filter(({ prefixed }) => prefixed !== undefined).map(({ path }) => path)); // these give way themselves
  const others = [...providers.commands.declared(), ...commands.filter((command) => command.overridable !== true)].filter(
    ({ path }) => !strangers.has(path),
  );
  const words = new Set([...taken, ...others].map(firstWord));
  return commands.filter((command) => command.overridable === true && words.has(firstWord(command))).map(hidden);
}

function hidden({ path, description }: Command): Diagnostic {
  return {
    severity: 'warning',
    code: 'name_clash',
    message: `'/${path}' (${description}) gives way to the command of that name`,
    cure: 'rename it',
  };
}

const KERNEL = 'pith itself';

/** Notes on names that more than one extension gives to a tool or a command; `taken`: commands of the kernel. Ask when everything has been activated. */
async function clashes(
  { extensions, providers: { tools, commands } }: Named,
  taken: readonly { readonly path: string }[] = [],
): Promise<readonly Diagnostic[]> {
  const active = extensions.list().filter(({ state, provides }) => state === 'active' && provides.includes('tool'));
  const offered = await Promise.all(
    active.map(async ({ id }) => {
      const offers = await tools.of(id).catch(() => []); // it stopped in between, and is told as failed
      return offers.map(({ name, overridable }) => [name, id, extensions.keepsNames(id) && overridable !== true] as const);
    }),
  );
  return [
    ...shared(offered.flat().map(([name, id]) => [name, id] as const)).map(([name, ids]) => {
      const keepers = offered.flat().flatMap(([each, id, keeps]) => (keeps && each === name ? [id] : []));
      const seen = ids.map((id) => (keepers.length === 1 && keepers[0] === id ? `${name} of '${id}'` : `${id}__${name}`));
      return clash(`the tool '${name}' is offered by ${listed(ids)}; an agent that uses both sees ${seen.join(' and ')}`);
    }),
    ...commands
      .declared()
      .filter(({ path, declared }) => path !== declared)
      .map(({ path, declared, extensionId }) =>
        clash(
          `the command '${declared}' of '${extensionId}' is reached as 'pith ${path}': another has that name, or begins with the same word`,
        ),
      ),
    ...shared([
      ...taken.map(({ path }) => [path, KERNEL] as const),
      ...commands.declared().map(({ path, extensionId }) => [path, extensionId] as const),
    ]).map(([path, ids]) =>
      clash(`the command '${path}' is declared by ${listed(ids)}; only that of '${ids[0]}' runs where both have the same words`),
    ),
  ];
}

/** Names with all that have them, where these are several. */
function shared(pairs: readonly (readonly [string, string])[]): readonly (readonly [string, readonly string[]])[] {
  const owners = new Map<string, Set<string>>();
  for (const [name, owner] of pairs) owners.set(name, (owners.get(name) ?? new Set()).add(owner));
  return [...owners].filter(([, ids]) => ids.size > 1).map(([name, ids]) => [name, [...ids]] as const);
}

function listed(ids: readonly string[]): string {
  return ids.map((id) => `'${id}'`).join(' and ');
}

function clash(message: string): Diagnostic {
  return { severity: 'info', code: 'name_clash', message, cure: 'rename one of them if that is not meant' };
}
