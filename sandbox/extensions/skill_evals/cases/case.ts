import { canonicalJson, sha256 } from '@pith/plain-data';

/** Agents that propose changes are told of training cases that failed, and of held-out cases nothing. */
export type Split = 'train' | 'held_out';

/** A text that people say, and whether the search should find the skill for it. */
export interface Trigger {
  /** Identifies it by all that it says. */
  readonly key: string;
  readonly text: string;
  readonly should: 'load' | 'not_load';
  readonly split: Split;
}

/** One thing that must be true of a run. `judge`: a model answers whether the run does what this sentence says. */
export type Expectation =
  | { readonly contains: string }
  | { readonly regex: string }
  | { readonly tool_called: string }
  | { readonly judge: string };

/** A file that a task begins with. */
export interface TaskFile {
  /** In the project of the run. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** A request to an agent, and what must be true of its run. */
export interface Task {
  /** Identifies it by all that it says, with its files. */
  readonly key: string;
  readonly prompt: string;
  readonly files: readonly TaskFile[];
  /** Empty: the turn must end well. */
  readonly expect: readonly Expectation[];
  readonly split: Split;
}

export interface SkillCases {
  readonly triggers: readonly Trigger[];
  readonly tasks: readonly Task[];
}

/** Of a hundred cases that do not state their split, about forty are held out: always the same ones. */
const HELD_OUT = 0.4;

export function triggerOf(text: string, should: Trigger['should'], split?: Split): Trigger {
  return { key: digestOf({ text, should }), text, should, split: split ?? splitOf(text) };
}

export function taskOf(prompt: string, files: readonly TaskFile[], expect: readonly Expectation[], split?: Split): Task {
  const contents = files.map(({ path, bytes }) => [path, sha256(bytes)]);
  return { key: digestOf({ prompt, files: contents, expect }), prompt, files, expect, split: split ?? splitOf(prompt) };
}

/** By the text alone, so that a case stays where it is when what it expects is corrected. */
function splitOf(text: string): Split {
  const share = Number.parseInt(sha256(text.trim()).slice(0, 8), 16) / 2 ** 32;
  return share < HELD_OUT ? 'held_out' : 'train';
}

function digestOf(value: unknown): string {
  return sha256(canonicalJson(value));
}
