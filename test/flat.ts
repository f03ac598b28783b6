import { stripVTControlCharacters } from 'node:util';

/** What a terminal shows, wherever its lines end: that depends on the folder. */
export const flat = (shown: string): string => stripVTControlCharacters(shown).replace(/\s+/gu, ' ');
