import type { Message } from './shapes.ts';

/** Messages that are drawn together, or not at all while they are far from what is seen. */
export type Page = readonly Message[];

const FEWEST = 25;

/** With messages that are behind all others. Pages that do not change stay the same objects. */
export function appended(pages: readonly Page[], messages: readonly Message[]): readonly Page[] {
  return messages.length === 0 ? pages : [...pages.slice(0, -1), ...divided([...(pages.at(-1) ?? []), ...messages])];
}

/** With messages that are before all others. */
export function prepended(pages: readonly Page[], messages: readonly Message[]): readonly Page[] {
  const [first = [], ...rest] = pages;
  const results = first.slice(0, beginning(first));
  const left = first.slice(results.length);
  return [...divided([...messages, ...results]), ...(left.length === 0 ? [] : [results.length === 0 ? first : left]), ...rest];
}

/** The results of a call stay with it. */
function divided(messages: readonly Message[]): readonly Page[] {
  const pages: Message[][] = [];
  for (const message of messages) {
    const last = pages.at(-1);
    if (last === undefined || (last.length >= FEWEST && message.role !== 'tool')) pages.push([message]);
    else last.push(message);
  }
  return pages;
}

/** How many results there are before its first other message. */
function beginning(page: Page): number {
  const at = page.findIndex(({ role }) => role !== 'tool');
  return at === -1 ? page.length : at;
}
