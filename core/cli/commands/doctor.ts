import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import type { JsonValue } from '../../contract/json.ts';
import type { Doctor, KernelPort } from '../kernel-port.ts';
import { colours, findingLine, paintState, printTable } from './text.ts';

/** Exit code 1 when anything failed. */
export async function runDoctor(kernel: KernelPort, _input: CommandInput, io: CommandIO): Promise<number> {
  const report = await kernel.doctor();
  io.json(JSON.parse(JSON.stringify(report)) as JsonValue);
  printReport(io, report);
  return report.ok ? 0 : 1;
}

function printReport(io: CommandIO, report: Doctor): void {
  const colour = colours(io);
  io.print(`${colour.bold('Model')}  ${report.model.ref} ${colour.dim(`(${report.model.why})`)}\n`);
  printStates(io, 'EXTENSION', report.extensions);
  io.print('');
  printStates(io, 'AGENT', report.agents);
  const skills = Object.entries(report.skills).filter(([, count]) => typeof count === 'number');
  if (skills.length > 0) io.print(`\n${colour.bold('Skills')}  ${skills.map(([state, count]) => `${count} ${state}`).join(', ')}`);
  for (const { id, notes = [] } of report.extensions) for (const { message } of notes) io.print(colour.dim(`note: ${id}: ${message}`));
  for (const note of report.notes ?? []) io.print(colour.dim(`note: ${findingLine(note)}`));
  io.print(`\n${report.ok ? colour.green('All is well') : colour.red('Something failed: the lines above say what and how to mend it')}`);
}

function printStates(io: CommandIO, title: string, rows: Doctor['extensions'] | Doctor['agents']): void {
  printTable(
    { ...io, columns: 0, colour: io.colour, interactive: false },
    [...rows] as Doctor['extensions'][number][],
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
