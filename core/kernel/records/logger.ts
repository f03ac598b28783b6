import { type Clock, type Logger, messageOf } from '../../contract/index.ts';
import { printableJson } from '@pith/plain-text';
import { stateFolder } from '@pith/safe-files';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** How large a file may grow, and how many are kept. */
export interface LogQuota {
  readonly log_mb: number;
  readonly logs: number;
}

export interface LogOptions {
  readonly dataDirectory: string;
  readonly level: LogLevel;
  readonly clock: Clock;
  readonly quota?: LogQuota | undefined;
  /** Takes secrets out of a finished line. */
  redact(line: string): string;
}

/** JSON lines, one record a line. */
export const LOG_FOLDER = 'logs';
export const LOG_FILE = 'pith.log';

type LogRecord = {
  readonly level: Exclude<LogLevel, 'silent'>;
  readonly time: number;
  readonly name: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
};

export const LEVELS = { debug: 20, info: 30, warn: 40, error: 50, silent: 100 } as const;

/** `PITH_LOG`: how much is kept; anything else, and nothing, means `info`. */
export function logLevelOf(text: string | undefined): LogLevel {
  return text !== undefined && Object.hasOwn(LEVELS, text) ? (text as LogLevel) : 'info';
}

/** As many are written at once without waiting for others. */
const MOST_BUFFERED = 1000;
/** Records wait so long for others. */
const SETTLE_MS = 250;
const DEFAULT_QUOTA = { log_mb: 10, logs: 5 } as const;

/** Records are buffered for a moment and appended together: each time the file is opened again, so that another process can begin a new one. */
export function createLog(options: LogOptions) {
  const buffer: LogRecord[] = [];
  let cancel: (() => void) | undefined;
  let closed = false;

  function add(record: LogRecord): void {
    if (closed || LEVELS[record.level] < LEVELS[options.level]) return;
    if (buffer.push(record) >= MOST_BUFFERED) return settle();
    cancel ??= options.clock.after(SETTLE_MS, settle);
  }

  function settle(): void {
    cancel?.();
    cancel = undefined;
    if (buffer.length > 0) appendLines(options, buffer.splice(0));
  }

  return {
    /** Lines carry `name`. */
    logger: (name: string): Logger => {
      const at =
        (level: LogRecord['level']) =>
        (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
          add({ level, time: options.clock.now(), name, message, fields });
      return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
    },
    /** Writes what is buffered. Later records are dropped. */
    close() {
      closed = true;
      settle();
    },
  };
}

function appendLines({ dataDirectory, redact, quota = DEFAULT_QUOTA }: LogOptions, records: readonly LogRecord[]): void {
  const lines = records.map(({ level, time, name, message, fields }) =>
    printableJson(redact(JSON.stringify({ level: LEVELS[level], time, name, ...plainFields(fields), msg: message }))),
  );
  try {
    const rotation = { bytes: quota.log_mb * 1024 * 1024, files: quota.logs };
    stateFolder(dataDirectory, LOG_FOLDER).append(LOG_FILE, lines.join('\n') + '\n', rotation);
  } catch {
    // the log is the last place to complain in: a full or read-only disk, or a pipe in its place, must not stop the kernel
  }
}

/** Fields of a log record as JSON, so that they cross whatever they hold. */
export function plainFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return JSON.parse(
      JSON.stringify(fields, (_, value: unknown) =>
        value instanceof Error ? { message: value.message, stack: value.stack } : typeof value === 'bigint' ? String(value) : value,
      ),
    ) as Record<string, unknown>;
  } catch (error) {
    return { fields: `not serialisable: ${messageOf(error)}` };
  }
}
