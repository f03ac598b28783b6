/** Pith within a program: `import { createPith } from 'pith/embed'`. Importing it loads nothing of Pith. */
import type { Pith, PithOptions } from './options.ts';

export type { ThreadLog } from '../agent/index.ts';
export type {
  Approve,
  ApproveAnswer,
  EmbeddedAgent,
  EmbeddedExtension,
  EmbeddedModel,
  EmbeddedSkill,
  EmbeddedTool,
  GivenModel,
  Limits,
  OutputSchema,
  Pith,
  PithOptions,
  Question,
  Run,
  RunEnd,
  RunOptions,
  RunResult,
} from './options.ts';

/**
 * Makes a Pith of its own: without options it reads nothing of the machine, writes nothing and keeps threads in memory. Several do not
 * know of each other. Call `close` when it is not needed any more.
 */
export async function createPith(options: PithOptions = {}): Promise<Pith> {
  const { openPith } = await import('./open-pith.ts');
  return openPith(options);
}
