/** How the bytes of a file can be read. */
export interface Readings {
  /** As a person reads them. */
  readonly text: string;
  /** As an interpreter may read them that takes no notice of what it does not know; null: as the text is. */
  readonly rest: string | null;
  /** NUL characters, which hide a text from most that looks at it, or make it the data of a program. */
  readonly holdsNul: boolean;
  /** They begin as programs of machines do. */
  readonly isMachineCode: boolean;
}

const MACHINE_CODE = /^(?:\x7fELF|MZ|\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe|\0asm)/;

export function readingsOf(bytes: Buffer): Readings {
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
  const whole = bytes.toString(isWide ? 'utf16le' : 'utf8');
  const text = whole.replaceAll('\0', '');
  const holdsNul = text.length < whole.length;
  const isMachineCode = holdsNul && MACHINE_CODE.test(bytes.subarray(0, 4).toString('latin1'));
  return { text, rest: isWide || holdsNul ? visible(bytes) : null, holdsNul, isMachineCode };
}

/** A shell runs the lines that it can read among others that it cannot. */
function visible(bytes: Buffer): string {
  return bytes.toString('latin1').replace(/[^\t\n\r\x20-\x7e]/g, '');
}
