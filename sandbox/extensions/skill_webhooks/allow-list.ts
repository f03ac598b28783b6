import { isRange, isWithin } from '@pith/address-ranges';

/** An allow list as a person writes it: an address or range a line. */
export interface AllowList {
  /** Lines that are neither. */
  readonly wrong: readonly string[];
  admits(address: string): boolean;
}

/** A blank list admits everybody; one that is not, and has no line that counts, nobody. */
export function readAllowList(text: string): AllowList {
  const lines = text
    .split(/[\n,]/)
    .map((line) => line.replace(/#.*$/, '').trim())
    .filter((line) => line !== '');
  return {
    wrong: lines.filter((line) => !isRange(line)),
    admits: (address) => text.trim() === '' || isWithin(address, lines),
  };
}
