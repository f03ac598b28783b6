import type { TextRanker } from '@pith/word-ranker';
import type { Need } from './search-data.ts';
import { SHOWN } from './search-needs.ts';

/** What people say in the course of a day that no skill is for. */
/** The weak-match rule was chosen with a look at the first thirty; the others were looked at afterwards. */
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
  'hey',
  'good night',
  'cool',
  'great job',
  'wow, nice',
  'are you still there',
  'what day is it',
  'how is the weather',
  'I have to go now',
  'give me a minute',
  'that makes sense',
  'I disagree',
  'hmm',
  'what is your favourite colour',
  'do you like music',
  'I just had lunch',
  'my head hurts',
  'it is so hot today',
  'let us start over',
  'forget what I said',
  'you misunderstood me',
  'one more time please',
  'sounds good',
  'perfect',
  'I love it',
  'bye',
  'who won the game last night',
  'how do you say hello in French',
  'I am bored',
  'what is 17 times 23',
];

/** How many of them bring a suggestion, of each thirty, and how many of the needs do. */
export function spoken(
  ranker: TextRanker,
  needs: readonly Need[],
): { readonly tuned: number; readonly untouched: number; readonly needs: number } {
  const brings = (text: string) => ranker.rank(text, { k: SHOWN, weak: true }).some(({ weak }) => !weak);
  const half = SMALL_TALK.length / 2;
  return {
    tuned: SMALL_TALK.slice(0, half).filter(brings).length,
    untouched: SMALL_TALK.slice(half).filter(brings).length,
    needs: needs.filter(({ user }) => brings(user)).length,
  };
}
