import type { Diagnostic } from '../../contract/index.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Slot } from '../lifecycle/slot.ts';
import { TOOLSET_INVALID } from './toolset-id.ts';

/** What was found wrong when it was loaded, or why what runs is not what is written. */
export function notesOf({ parts }: Lifecycle, { id, notes, declaration: { file } }: Slot): readonly Diagnostic[] {
  const found = [...notes].flatMap(([message, code]) => (code === TOOLSET_INVALID ? [message] : []));
  const last = parts.failures.last(id);
  if (last?.phase === 'reload') found.push(last.message);
  return found.map((message) => ({ severity: 'warning', code: TOOLSET_INVALID, message, file, cure: "correct it; see 'pith doctor'" }));
}
