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
  printReport({ ...io, print }, kernel.trust, report);
  return report.ok ? 0 : 1;
}

function printReport(io: CommandIO, { opened, sandbox, project, isBare, level }: Kernel['trust'], report: DoctorReport): void {
  const colour = colours(io);
  const { model } = report;
  io.print(`${colour.bold('Project')}  ${printable(project ?? 'none')}`);
  io.print(
    `${colour.bold('Sandbox')}  ${printable(isBare ? sandbox : opened)}${level === 'restricted' ? colour.yellow(' (restricted)') : ''}`,
  );
  io.print(`${colour.bold('Model')}    ${model.ref === 'none' ? colour.red('none') : model.ref} ${colour.dim(`(${model.why})`)}\n`);
  printStates(
    io,
    'EXTENSION',
    report.extensions.map((each) => ({ ...each, state: each.degraded === true ? 'degraded' : each.state })),
  );
  const apart = report.extensions.filter(({ tier }) => tier === 'process').map(({ id }) => id);
  if (apart.length > 0) io.print(colour.dim(`In separate processes: ${apart.join(', ')}`));
  io.print('');
  printStates(io, 'AGENT', report.agents);
  const skills = Object.entries(report.skills).filter(([, count]) => typeof count === 'number');
  if (skills.length > 0) io.print(`\n${colour.bold('Skills')}  ${skills.map(([state, count]) => `${count} ${state}`).join(', ')}`);
  for (const [message, { ids, isAlarm }] of notesOf(report.extensions)) {
    const line = printable(`${ids.join(', ')}: ${message}`);
    io.print(isAlarm ? colour.red(`warning: ${line}`) : colour.dim(`note: ${line}`));
  }
  for (const { id, message, notes = [] } of report.agents)
    for (const note of notes.filter((each) => each.message !== message))
      printFinding(io, { ...note, message: `${id}: ${findingLine(note)}`, file: undefined });
  for (const note of report.notes ?? []) printFinding(io, note);
  io.print(`\n${verdict(report, colour)}`);
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
