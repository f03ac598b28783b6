import { isRange, isWithin } from '@pith/address-ranges';

/** An allow list as a person writes it: one address or range per line. */
export interface AllowList {
  /** Lines that are neither. */
  readonly wrong: readonly string[];
  admits(address: string): boolean;
}

/** A blank list admits everybody; any other admits nobody where none of its lines is valid. */
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
