import type { TurnEvent } from 'pith';
import { fieldsOf } from '@pith/plain-data';
import { printableLine } from '@pith/plain-text';

interface Item {
  readonly content: string;
  readonly status: string;
}

/** Rows below what is awaited. */
const MOST_ROWS = 8;
const LONGEST = 120;

/** The list of what an agent has to do, as the newest result of a tool has it in `metadata.checklist`. Gone when all is done or another conversation begins. */
export class Checklist {
  #thread = '';
  #items: readonly Item[] = [];

  observe(event: TurnEvent): void {
    if (event.type === 'turn-start' && event.thread !== this.#thread) {
      this.#thread = event.thread;
      this.#items = [];
    }
    if (event.type === 'turn-end' && this.#items.every(({ status }) => status === 'completed')) this.#items = [];
    const { checklist } = fieldsOf(event.type === 'tool-result' ? event.metadata : null);
    if (!Array.isArray(checklist)) return;
    this.#items = checklist.map(fieldsOf).map(({ content, status }) => ({ content: String(content), status: String(status) }));
  }

  /** As many as there is room for: first what is done goes, then what comes last. */
  rows(): readonly string[] {
    const items = this.#items;
    const open = items.filter(({ status }) => status !== 'completed').length;
    const done = items.length - open;
    const gone = items.length <= MOST_ROWS ? 0 : Math.min(done, items.length - MOST_ROWS + 1);
    const counted = gone === 0 ? [] : [`  ✓ ${gone} done`];
    let left = gone;
    const shown = items.filter(({ status }) => status !== 'completed' || (left -= 1) < 0);
    const rows = shown.map(({ content, status }) => `  ${MARKS.get(status) ?? '○'} ${printableLine(content, LONGEST)}`);
    const room = MOST_ROWS - counted.length;
    return rows.length <= room ? [...counted, ...rows] : [...counted, ...rows.slice(0, room - 1), `  … ${rows.length - room + 1} more`];
  }
}

const MARKS: ReadonlyMap<string, string> = new Map([
  ['completed', '✓'],
  ['in_progress', '▸'],
]);
