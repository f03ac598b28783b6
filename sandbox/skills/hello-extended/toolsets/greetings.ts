/** How people are greeted, by language. */
export const GREETINGS: ReadonlyMap<string, string> = new Map([
  ['English', 'Hello'],
  ['French', 'Bonjour'],
  ['German', 'Guten Tag'],
  ['Spanish', 'Buenos días'],
  ['Italian', 'Buongiorno'],
  ['Polish', 'Dzień dobry'],
  ['Swahili', 'Habari'],
  ['Japanese', 'こんにちは'],
]);
