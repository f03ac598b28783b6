import { isWithin, plainRange } from '@pith/address-ranges';

/** An allow list as a person writes it: one address or range per line. */
export interface AllowList {
  admits(address: string): boolean;
}

/** A blank list admits everybody; a list without a valid line admits nobody. */
export function readAllowList(text: string): AllowList {
  const lines = text
    .split(/[\n,]/)
    .map((line) => line.replace(/#.*$/, '').trim())
    .filter((line) => line !== '');
  return {
    admits: (address) => text.trim() === '' || isWithin(address, lines),
  };
}

/** The addresses or ranges that a person names, in their stored form; `wrong`: entries that are neither, or contain more. */
export function namedAddresses(named: readonly string[]): { readonly ranges: readonly string[]; readonly wrong: readonly string[] } {
  const read = named.map((text) => ({ text, range: plainRange(text) }));
  return {
    ranges: [...new Set(read.flatMap(({ range }) => range ?? []))],
    wrong: read.filter(({ range }) => range === null).map(({ text }) => text),
  };
}
