/** The parts of a file, one after the other, each aligned to eight bytes. */
export function packed(parts: readonly Uint8Array[]): Uint8Array {
  const head = new Uint32Array([parts.length, ...parts.map(({ byteLength }) => byteLength)]);
  const all = [new Uint8Array(head.buffer), ...parts];
  const whole = new Uint8Array(all.reduce((sum, { byteLength }) => sum + aligned(byteLength), 0));
  let at = 0;
  for (const part of all) {
    whole.set(part, at);
    at += aligned(part.byteLength);
  }
  return whole;
}

/** Throws where the bytes do not come from `packed`, or are not aligned to eight bytes. */
export function unpacked(whole: Uint8Array): readonly Uint8Array[] {
  const [count = 0] = new Uint32Array(whole.buffer, whole.byteOffset, 1);
  const sizes = new Uint32Array(whole.buffer, whole.byteOffset + 4, count);
  let at = aligned(4 + count * 4);
  const parts = [...sizes].map((size) => {
    const part = whole.subarray(at, at + size);
    at += aligned(size);
    return part;
  });
  if (at !== whole.byteLength) throw new Error('its parts do not fill it');
  return parts;
}

export function numbers32(part: Uint8Array): Uint32Array {
  return new Uint32Array(part.buffer, part.byteOffset, part.byteLength / 4);
}

export function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}

const ALIGNED = 8;

function aligned(size: number): number {
  return Math.ceil(size / ALIGNED) * ALIGNED;
}
