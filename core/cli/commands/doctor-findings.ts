import type { Diagnostic } from '../../contract/index.ts';
import { type DoctorReport, fails, isIgnored } from '../../compose/index.ts';

/** Something that a person should know, of these extensions or agents; of none where it is said of Pith. */
export interface DoctorFinding extends Pick<Diagnostic, 'severity' | 'message' | 'file' | 'line' | 'cure'> {
  readonly of: readonly string[];
  /** Something runs without a sandbox because a person chose so, or a setting has no effect. */
  readonly isAlarm?: true;
}

export interface Verdict {
  readonly level: 'good' | 'warn' | 'bad';
  readonly text: string;
}

export type Examined = DoctorReport['extensions'][number] | DoctorReport['agents'][number];

/** What a report says besides the state of each part: errors, and what is worth less. */
export function notesOf(report: DoctorReport): Readonly<Record<'errors' | 'others', readonly DoctorFinding[]>> {
  const own = (report.notes ?? []).toSorted((one, other) => RANK[one.severity] - RANK[other.severity]).map((note) => ({ of: [], ...note }));
  const ofAgents = report.agents.flatMap(({ id, message, notes = [] }) =>
    notes.filter((note) => note.message !== message).map((note) => ({ ...note, of: [id] })),
  );
  const isError = ({ severity }: DoctorFinding): boolean => severity === 'error';
  return { errors: own.filter(isError), others: [...sharedNotes(report.extensions), ...ofAgents, ...own.filter((note) => !isError(note))] };
}

/** All that a report says, for who shows it as one list. */
export function findingsOf(report: DoctorReport): readonly DoctorFinding[] {
  const { errors, others } = notesOf(report);
  const unsound = [...report.extensions, ...report.agents].filter((part) => !isSound(part)).map(stateFinding);
  return [...errors, ...unsound, ...others];
}

export function verdictOf(report: DoctorReport): Verdict {
  if (!report.ok) return { level: 'bad', text: 'Problems found' };
  const ofExtensions = report.extensions.filter(({ code, notes = [] }) => code !== undefined || notes.some((note) => isAlarm(note.code)));
  const ofAgents = report.agents.map(({ code, notes = [] }) => Math.max(code === undefined ? 0 : 1, notes.filter(counts).length));
  const count = ofExtensions.length + ofAgents.reduce((sum, each) => sum + each, 0) + (report.notes ?? []).filter(counts).length;
  if (count === 0) return { level: 'good', text: 'All is well' };
  return { level: 'warn', text: `Working, with ${count} ${count === 1 ? 'finding' : 'findings'}` };
}

/** It runs, or waits for its first use, and nothing is to be said of it. */
export function isSound({ state, code, ...part }: Examined): boolean {
  return (state === 'active' || state === 'idle') && code === undefined && !('degraded' in part && part.degraded === true);
}

function isAlarm(code: string): boolean {
  return code === 'unconfined' || isIgnored({ code });
}

const RANK = { error: 0, warning: 1, info: 2 };

/** Those that several extensions share are said once. */
function sharedNotes(extensions: DoctorReport['extensions']): readonly DoctorFinding[] {
  const found = new Map<string, DoctorFinding>();
  for (const { id, notes = [] } of extensions)
    for (const note of notes) {
      const key = JSON.stringify([note.message, note.file, note.line, note.cure]);
      const before = found.get(key);
      const alarm = isAlarm(note.code) || before?.isAlarm === true ? ({ isAlarm: true, severity: 'warning' } as const) : {};
      found.set(key, { severity: 'info', ...note, ...alarm, of: [...(before?.of ?? []), id] });
    }
  return [...found.values()];
}

function stateFinding(part: Examined): DoctorFinding {
  const { id, state, message, file, line, cure } = part;
  const isFailed = state === 'failed' || ('tier' in part && fails(part));
  const severity = isFailed ? 'error' : message === undefined ? 'info' : 'warning';
  const said = message === undefined ? state : `${state}: ${message}`;
  return { of: [id], severity, message: said, ...defined({ file, line, cure }) };
}

function defined<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: NonNullable<T[K]> };
}

function counts({ severity }: Pick<Diagnostic, 'severity'>): boolean {
  return severity !== 'info';
}
