import type { CommandInput, CommandIO, Diagnostic, JsonValue } from '../../contract/index.ts';
import { findingLine, printable, wrapLines } from '@pith/plain-text';
import { type DoctorReport, isIgnored, type Kernel } from '../../compose/index.ts';
import { untilAborted } from '@pith/promises';
import { restartKernel, showSettings } from './chat-only.ts';
import { colours, paintState, printTable } from './text.ts';

/** Exit code 1 when anything failed. */
export async function runDoctor(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  if (input.options['restart'] === true) return restartKernel(kernel, input, io);
  if (input.options['settings'] === true) return showSettings(kernel, input, io);
  const report = await untilAborted(kernel.doctor(), signal);
  io.json(JSON.parse(JSON.stringify(report)) as JsonValue);
  const print = (text: string) => io.print(io.colour || io.interactive ? wrapLines(text, io.columns) : text);
  printReport({ ...io, print }, kernel.trust, report, input.options['all'] === true);
  return report.ok ? 0 : 1;
}

function printReport(
  io: CommandIO,
  { opened, sandbox, project, isBare, level }: Kernel['trust'],
  report: DoctorReport,
  all: boolean,
): void {
  const colour = colours(io);
  const { model } = report;
  io.print(`${colour.bold('Project')}  ${printable(project ?? 'none')}`);
  io.print(
    `${colour.bold('Sandbox')}  ${printable(isBare ? sandbox : opened)}${level === 'restricted' ? colour.yellow(' (restricted)') : ''}`,
  );
  io.print(`${colour.bold('Model')}    ${model.ref === 'none' ? colour.red('none') : model.ref} ${colour.dim(`(${model.why})`)}`);
  const extensions = report.extensions.map((each) => ({ ...each, state: each.degraded === true ? 'degraded' : each.state }));
  const shown = <T extends Pick<Row, 'state' | 'code'>>(rows: readonly T[]) => rows.filter((row) => all || !isSound(row));
  const notes = [...(report.notes ?? [])].sort((one, other) => RANK[one.severity] - RANK[other.severity]);
  if (notes.length > 0) io.print('');
  for (const note of notes) if (note.severity === 'error') printFinding(io, note);
  for (const [title, rows] of [
    ['EXTENSION', shown(extensions)],
    ['AGENT', shown(report.agents)],
  ] as const) {
    if (rows.length === 0) continue;
    io.print('');
    printStates(io, title, rows);
  }
  for (const [message, { ids, isAlarm }] of notesOf(report.extensions)) {
    const line = printable(`${ids.join(', ')}: ${message}`);
    io.print(isAlarm ? colour.red(`warning: ${line}`) : colour.dim(`note: ${line}`));
  }
  for (const { id, message, notes: own = [] } of report.agents)
    for (const note of own.filter((each) => each.message !== message))
      printFinding(io, { ...note, message: `${id}: ${findingLine(note)}`, file: undefined });
  for (const note of notes) if (note.severity !== 'error') printFinding(io, note);
  const apart = report.extensions.filter(({ tier }) => tier === 'process').map(({ id }) => id);
  if (apart.length > 0 && all) io.print(colour.dim(`In separate processes: ${apart.join(', ')}`));
  const sound = [`${extensions.filter(isSound).length} extensions`, `${report.agents.filter(isSound).length} agents`].join(' and ');
  if (!all)
    io.print(
      `\n${colour.bold('Sound')}    ${sound} ${colour.dim(`(${io.session === undefined ? 'pith doctor' : '/doctor'} --all lists them)`)}`,
    );
  const skills = Object.entries(report.skills).filter(([, count]) => typeof count === 'number');
  if (skills.length > 0) io.print(`${colour.bold('Skills')}   ${skills.map(([state, count]) => `${count} ${state}`).join(', ')}`);
  io.print(`\n${verdict(report, colour)}`);
}

const RANK = { error: 0, warning: 1, info: 2 };

/** It runs, or waits for its first use, and nothing is to be said of it. */
function isSound({ state, code }: Pick<Row, 'state' | 'code'>): boolean {
  return (state === 'active' || state === 'idle') && code === undefined;
}

function printFinding(io: CommandIO, finding: Diagnostic): void {
  const { severity } = finding;
  const colour = colours(io);
  const paint = severity === 'error' ? colour.red : severity === 'warning' ? colour.yellow : colour.dim;
  io.print(`${paint(severity === 'info' ? 'note:' : `${severity}:`)} ${colour.dim(findingLine(finding))}`);
}

/** Notes that several extensions share are printed once. */
function notesOf(
  extensions: DoctorReport['extensions'],
): ReadonlyMap<string, { readonly ids: readonly string[]; readonly isAlarm: boolean }> {
  const found = new Map<string, { readonly ids: readonly string[]; readonly isAlarm: boolean }>();
  for (const { id, notes = [] } of extensions)
    for (const { code, ...note } of notes) {
      const message = findingLine(note);
      found.set(message, { ids: [...(found.get(message)?.ids ?? []), id], isAlarm: isAlarm(code) || found.get(message)?.isAlarm === true });
    }
  return found;
}

/** Something runs without a sandbox because a person chose so, or a setting has no effect. */
function isAlarm(code: string): boolean {
  return code === 'unconfined' || isIgnored({ code });
}

function verdict(report: DoctorReport, colour: ReturnType<typeof colours>): string {
  if (!report.ok) return colour.red('Problems found; fixes are listed above');
  const count =
    report.extensions.filter(({ code, notes = [] }) => code !== undefined || notes.some((note) => isAlarm(note.code))).length +
    report.agents.reduce((sum, { code, notes = [] }) => sum + Math.max(code === undefined ? 0 : 1, notes.filter(counts).length), 0) +
    (report.notes ?? []).filter(counts).length;
  return count === 0 ? colour.green('All is well') : colour.yellow(`Working, with ${count} ${count === 1 ? 'finding' : 'findings'} above`);
}

function counts({ severity }: Diagnostic): boolean {
  return severity !== 'info';
}

type Row = Omit<DoctorReport['extensions'][number], 'state'> & { readonly state: string };

function printStates(io: CommandIO, title: string, rows: readonly (Row | DoctorReport['agents'][number])[]): void {
  printTable(
    { ...io, columns: 0, colour: io.colour, interactive: false },
    [...rows] as Row[],
    [
      { title, value: ({ id }) => id },
      { title: 'STATE', value: ({ state }) => state, paint: (text, { state }) => paintState(io, state, text) },
      { title: 'PHASE', value: ({ phase }) => phase ?? '' },
      { title: 'CODE', value: ({ code }) => code ?? '' },
      { title: 'REASON', value: (row) => (row.message === undefined ? '' : findingLine(row)) },
    ],
    `No ${title.toLowerCase()}s`,
  );
}
