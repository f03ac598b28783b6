import { fold } from './characters.ts';
import { PhraseIndex } from './phrase-index.ts';

/** Texts that, standing in a message as whole words, ask what there is. docs/triggers.md lists them. */
export const CAPABILITY_PHRASES: readonly string[] = [
  'what can you do',
  'what are you able to do',
  'what can you help me with',
  'what can you help with',
  'how can you help',
  'what can i ask you',
  'your capabilities',
  'your abilities',
  'your skills',
  'list skills',
  'list all skills',
  'list the skills',
  'list available skills',
  'show skills',
  'show all skills',
  'show the skills',
  'show available skills',
  'available skills',
  'which skills',
  'what skills',
  'was kannst du',
  'welche skills',
  'que peux-tu faire',
  'que sais-tu faire',
  'qué puedes hacer',
  'o que você pode fazer',
  '你能做什么',
  '你会什么',
  '何ができますか',
  '何ができる',
  '무엇을 할 수 있',
];

/** Texts that ask it when they are the whole message. */
export const CAPABILITY_MESSAGES: readonly string[] = ['help', 'skills', 'capabilities', '/help', '/skills', '?'];

/** Whether a message asks what the agent can do. */
export function asksForCapabilities(message: string): boolean {
  const text = fold(message.slice(0, LONGEST));
  if (CAPABILITY_MESSAGES.includes(text.replace(/(?<=\p{L})[\s?!.]+$/u, ''))) return true;
  let asks = false;
  index().eachIn(text, () => (asks = true));
  return asks;
}

/** Who asks does so in few words. */
const LONGEST = 1000;

let made: PhraseIndex<true> | undefined;

function index(): PhraseIndex<true> {
  if (made === undefined) {
    made = new PhraseIndex();
    for (const phrase of CAPABILITY_PHRASES) made.add(phrase, true);
  }
  return made;
}
