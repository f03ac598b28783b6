import { appendFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Clock, Logger } from '../contract/index.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface Log {
  /** Lines carry `name`. */
  logger(name: string): Logger;
  /** Writes what is buffered and closes the file. Later records are dropped. */
  close(): Promise<void>;
}

export interface LogOptions {
  /** JSON lines, one record a line. */
  readonly file: string;
  readonly level: LogLevel;
  readonly clock: Clock;
  /** Takes secrets out of a finished line. */
  redact(line: string): string;
}

type LogRecord = {
  readonly level: Exclude<LogLevel, 'silent'>;
  readonly time: number;
  readonly name: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
};
type Sink = { write(record: LogRecord): void; close(): Promise<void> };

const LEVELS = { debug: 20, info: 30, warn: 40, error: 50, silent: 100 } as const;

/** `PITH_LOG`: how much is kept; anything else, and nothing, means `info`. */
export function logLevelOf(text: string | undefined): LogLevel {
  return text !== undefined && Object.hasOwn(LEVELS, text) ? (text as LogLevel) : 'info';
}

const MOST_BUFFERED = 1000;
/** Lines may tell what a person said. */
const MODE = 0o600;
/** Records wait so long for others. */
const SETTLE_MS = 250;
/** A command that ends sooner never loads the log writer. */
const WRITER_AFTER_MS = 2000;

/** Records are buffered and appended together until the process has lived a moment; then pino writes them, in the background. */
export function createLog(options: LogOptions): Log {
  const buffer: LogRecord[] = [];
  let dropped = 0;
  let sink: Sink | undefined;
  let opening: Promise<void> | undefined;
  let cancel: (() => void) | undefined;
  let closed = false;
  const began = options.clock.now();

  function add(record: LogRecord): void {
    if (closed || LEVELS[record.level] < LEVELS[options.level]) return;
    if (sink) return sink.write(record);
    if (buffer.length < MOST_BUFFERED) buffer.push(record);
    else dropped++;
    cancel ??= options.clock.after(SETTLE_MS, settle);
  }

  function settle(): void {
    cancel = undefined;
    const lived = options.clock.now() - began;
    if (lived < 0 || lived >= WRITER_AFTER_MS || dropped > 0) opening = open();
    else appendLines(options, buffer.splice(0));
  }

  async function open(): Promise<void> {
    sink = await openSink(options).catch(() => NOWHERE); // a full or read-only disk must not stop the kernel
    for (const record of buffer.splice(0)) sink.write(record);
    if (dropped > 0)
      sink.write({ level: 'warn', time: options.clock.now(), name: 'log', message: 'records were dropped', fields: { dropped } });
  }

  return {
    logger: (name) => {
      const at =
        (level: LogRecord['level']) =>
        (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
          add({ level, time: options.clock.now(), name, message, fields });
      return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
    },
    async close() {
      closed = true;
      cancel?.();
      await opening;
      if (sink) await sink.close();
      else if (buffer.length > 0) appendLines(options, buffer.splice(0));
    },
  };
}

const NOWHERE: Sink = { write: () => undefined, close: () => Promise.resolve() };

async function openSink({ file, redact }: LogOptions): Promise<Sink> {
  const { default: pino } = await import('pino'); // a bundle offers nothing else of it
  mkdirSync(path.dirname(file), { recursive: true });
  const destination = pino.destination({ dest: file, sync: false, mode: MODE });
  destination.on('error', () => undefined); // what cannot be logged is lost; the work goes on
  const writer = pino({ base: null, timestamp: false, level: 'debug', hooks: { streamWrite: redact } }, destination);
  return {
    write: ({ level, time, name, message, fields }) => writer[level]({ time, name, ...plainFields(fields) }, message),
    close: () =>
      new Promise((resolve) => {
        destination.once('close', resolve);
        destination.once('error', resolve);
        destination.end();
      }),
  };
}

function appendLines({ file, redact }: LogOptions, records: readonly LogRecord[]): void {
  const lines = records.map(({ level, time, name, message, fields }) =>
    redact(JSON.stringify({ level: LEVELS[level], time, name, ...plainFields(fields), msg: message })),
  );
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    appendFileSync(file, lines.join('\n') + '\n', { mode: MODE });
  } catch {
    // the log is the last place to complain in: a full or read-only disk must not stop the kernel
  }
}

/** Fields as JSON, so that a cycle, a bigint or a getter that throws costs the fields and not the record. */
function plainFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return JSON.parse(
      JSON.stringify(fields, (_, value: unknown) =>
        value instanceof Error ? { message: value.message, stack: value.stack } : typeof value === 'bigint' ? String(value) : value,
      ),
    ) as Record<string, unknown>;
  } catch (error) {
    return { fields: `not serialisable: ${error instanceof Error ? error.message : String(error)}` };
  }
}
