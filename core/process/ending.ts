import { constants } from 'node:os';
import type { ExitOf } from '@pith/held-process';
import type { ErrorCode } from '../kernel/index.ts';

/** Why a process is no more, in words that end a sentence: `its process ended with exit code 1`. */
export interface Ending {
  readonly code: ErrorCode;
  readonly message: string;
  /** What to do about it, as an imperative. */
  readonly cure?: string;
}

export interface EndingFacts {
  /** The end of what it printed. */
  readonly lastWords: string;
  readonly heapMb: number;
  readonly extensionId: string;
  /** The sandbox reports a signal as an exit code of 128 and its number. */
  readonly isSandboxed: boolean;
}

/** Why a process ended that nobody ended, in words. */
export function endingOf({ code, signal }: ExitOf, facts: EndingFacts): Ending {
  if (/heap out of memory|invalid (?:array|table) size|Zone Allocation failed/iu.test(facts.lastWords)) {
    const cure = `keep less in memory, or set extensions.${facts.extensionId}.memory_mb`;
    return { code: 'process_limit', message: `its heap was full at ${facts.heapMb} MB`, cure };
  }
  const name = signal ?? (facts.isSandboxed ? signalOf(code) : undefined);
  const how = name === undefined ? `ended with exit code ${code}` : `was ended by the signal ${name}`;
  return { code: 'process_ended', message: `its process ${how}` };
}

function signalOf(code: number | null): string | undefined {
  return code === null || code <= 128 ? undefined : Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}
