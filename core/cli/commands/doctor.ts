import type { CommandInput, CommandIO, JsonValue } from '../../contract/index.ts';
import { findingLine, printable, wrapLines } from '@pith/plain-text';
import type { DoctorReport, Kernel } from '../../compose/index.ts';
import { untilAborted } from '@pith/promises';
import { type DoctorFinding, type Examined, findingsOf, isSound, notesOf, verdictOf } from './doctor-findings.ts';
import { restartKernel, showSettings } from './chat-only.ts';
import { colours, paintState, printTable } from './text.ts';

/** Exit code 1 when anything failed. */
export async function runDoctor(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  if (input.options['restart'] === true) return restartKernel(kernel, input, io);
  if (input.options['settings'] === true) return showSettings(kernel, input, io);
  const report = await untilAborted(kernel.doctor(), signal);
  const whole = { ...report, verdict: verdictOf(report), findings: findingsOf(report) };
  io.json(JSON.parse(JSON.stringify(whole)) as JsonValue);
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
  const shown = <T extends Examined>(rows: readonly T[]) => rows.filter((row) => all || !isSound(row));
  const { errors, others } = notesOf(report);
  if ((report.notes ?? []).length > 0) io.print('');
  for (const finding of errors) printFinding(io, finding);
  for (const [title, rows] of [
    ['EXTENSION', shown(report.extensions)],
    ['AGENT', shown(report.agents)],
  ] as const) {
    if (rows.length === 0) continue;
    io.print('');
    printStates(io, title, rows);
  }
  for (const finding of others) printFinding(io, finding);
  const apart = report.extensions.filter(({ tier }) => tier === 'process').map(({ id }) => id);
  if (apart.length > 0 && all) io.print(colour.dim(`In separate processes: ${apart.join(', ')}`));
  const sound = [`${report.extensions.filter(isSound).length} extensions`, `${report.agents.filter(isSound).length} agents`].join(' and ');
  if (!all)
    io.print(
      `\n${colour.bold('Sound')}    ${sound} ${colour.dim(`(${io.session === undefined ? 'pith doctor' : '/doctor'} --all lists them)`)}`,
    );
  const skills = Object.entries(report.skills).filter(([, count]) => typeof count === 'number');
  if (skills.length > 0) io.print(`${colour.bold('Skills')}   ${skills.map(([state, count]) => `${count} ${state}`).join(', ')}`);
  const verdict = verdictOf(report);
  const more = { good: '', warn: ' above', bad: '; fixes are listed above' }[verdict.level];
  io.print(`\n${{ good: colour.green, warn: colour.yellow, bad: colour.red }[verdict.level](verdict.text + more)}`);
}

/** With what it is said of first. */
function printFinding(io: CommandIO, { of, severity, isAlarm, ...finding }: DoctorFinding): void {
  const colour = colours(io);
  const word = severity === 'info' ? 'note:' : `${severity}:`;
  const line = of.length === 0 ? findingLine(finding) : `${printable(of.join(', '))}: ${findingLine(finding)}`;
  const paint = severity === 'error' ? colour.red : severity === 'warning' ? colour.yellow : colour.dim;
  io.print(isAlarm === true ? colour.red(`${word} ${line}`) : `${paint(word)} ${colour.dim(line)}`);
}

function printStates(io: CommandIO, title: string, rows: readonly Examined[]): void {
  printTable(
    { ...io, columns: 0, colour: io.colour, interactive: false },
    rows.map((row) => ({ phase: undefined, ...row, state: 'degraded' in row && row.degraded === true ? 'degraded' : row.state })),
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
