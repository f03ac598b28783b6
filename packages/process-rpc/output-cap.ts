import type { Readable } from 'node:stream';
import { countIn } from './rate-limits.ts';

const FLOOD_BYTES = 16 * 1024 * 1024;
const FLOOD_WINDOW_MS = 10_000;
const KEPT_A_SECOND = 64 * 1024;
const LONGEST_LINE = 8 * 1024;

export interface OutputCap {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Called for each printed line, and for a note on dropped lines. */
  line(text: string): void;
  /** Called once, when the process prints more than anyone could read. */
  flood(message: string): void;
}

/** Reads what a process prints: passes on a limited number of lines a second, counts and drops the rest, and reports a flood. */
export function capOutput(stream: Readable, { line, flood, now }: OutputCap): void {
  const count = countIn(FLOOD_WINDOW_MS, now);
  let second = now();
  let passed = 0;
  let dropped = 0;
  let isFlood = false;

  function pass(text: string): void {
    const at = now();
    if (at - second >= 1000) {
      second = at;
      passed = 0;
      reportDropped();
    }
    if (passed > KEPT_A_SECOND) dropped += text.length;
    else if (text !== '') line(text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text);
    passed += text.length + 1;
  }

  function reportDropped(): void {
    if (dropped > 0) line(`… ${dropped} more characters were printed at once, and left out`);
    dropped = 0;
  }

  let rest = '';
  const decoder = new TextDecoder();
  stream.on('data', (chunk: Buffer) => {
    if (count(chunk.length).sum > FLOOD_BYTES && !isFlood) {
      isFlood = true;
      flood(`it printed more than ${FLOOD_BYTES / 1024 / 1024} MB within ${FLOOD_WINDOW_MS / 1000} s`);
    }
    // Dropped output is not decoded, since decoding is what makes a flood expensive.
    if (isFlood || passed > KEPT_A_SECOND * 4) {
      if (now() - second >= 1000) passed = 0;
      dropped += chunk.length + rest.length;
      rest = '';
      return;
    }
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/u);
    rest = lines.pop() ?? '';
    for (const each of lines) pass(each);
    if (rest.length > LONGEST_LINE) {
      pass(rest);
      rest = '';
    }
  });
  stream.on('end', () => {
    if (rest !== '') pass(rest);
    reportDropped();
  });
  stream.on('error', (error: Error) => pass(`its output cannot be read: ${error.message}`));
}
