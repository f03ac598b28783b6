import type { TextRanker } from '@pith/word-ranker';
import type { Need } from './search-data.ts';
import { SHOWN } from './search-needs.ts';

/** What people say in the course of a day that no skill is for. */
const SMALL_TALK: readonly string[] = [
  'hi',
  'hello there',
  'good morning',
  'how are you today',
  'thanks, that was great',
  'what time is it in Tokyo',
  'ok',
  'never mind',
  'you are funny',
  'tell me a joke',
  'who are you',
  'what can you do for me',
  'I am tired today',
  'it is raining again here',
  'my name is Anna',
  'lol',
  'yes please, go on',
  'no, the other one',
  'stop',
  'wait a second',
  'that did not work',
  'sorry, I meant yesterday',
  'where were we',
  'I am back',
  'see you tomorrow',
  'what do you think about it',
  'can you repeat that',
  'my cat just walked over the keyboard',
  'happy new year',
  'how old are you',
];

/** How many of them bring a suggestion, and how many of the needs do. */
export function spoken(ranker: TextRanker, needs: readonly Need[]): { readonly talk: number; readonly needs: number } {
  const brings = (text: string) => ranker.rank(text, { k: SHOWN, weak: true }).some(({ weak }) => !weak);
  return { talk: SMALL_TALK.filter(brings).length, needs: needs.filter(({ user }) => brings(user)).length };
}
