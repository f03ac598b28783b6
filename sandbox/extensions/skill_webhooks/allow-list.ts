import { isWithin, plainRange } from '@pith/address-ranges';

/** An allow list as a person writes it: one address or range per line. */
export interface AllowList {
  admits(address: string): boolean;
}

/** A blank list admits everybody; any other admits nobody where none of its lines is valid. */
export function readAllowList(text: string): AllowList {
  const lines = text
    .split(/[\n,]/)
    .map((line) => line.replace(/#.*$/, '').trim())
    .filter((line) => line !== '');
  return {
    admits: (address) => text.trim() === '' || isWithin(address, lines),
  };
}

/** What a person names, one address or range each, in the form that is kept; `wrong`: what is neither, or says more. */
export function namedAddresses(named: readonly string[]): { readonly ranges: readonly string[]; readonly wrong: readonly string[] } {
  const read = named.map((text) => ({ text, range: plainRange(text) }));
  return {
    ranges: [...new Set(read.flatMap(({ range }) => range ?? []))],
    wrong: read.filter(({ range }) => range === null).map(({ text }) => text),
  };
}
