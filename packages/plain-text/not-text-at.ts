/**
 * The offset of the first NUL or the first byte that is not UTF-8. null: all of it is text. What a person is asked to approve must be text,
 * because nothing else can be shown to them.
 */
export function notTextAt(bytes: Uint8Array): number | null {
  const nul = bytes.indexOf(0);
  const utf8 = isText(bytes, false) ? -1 : firstNoUtf8(bytes);
  if (nul < 0 && utf8 < 0) return null;
  return nul < 0 || (utf8 >= 0 && utf8 < nul) ? utf8 : nul;
}

/** A binary search: a prefix is valid if it is UTF-8, even where its last character is cut off. */
function firstNoUtf8(bytes: Uint8Array): number {
  let [good, bad] = [0, bytes.length + 1];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isText(bytes.subarray(0, middle), true)) good = middle;
    else bad = middle;
  }
  if (good < bytes.length) return good;
  // Every byte is valid, so the last character is cut off.
  let start = bytes.length - 1;
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}

/** `isCut`: its last character may go on behind it. */
function isText(bytes: Uint8Array, isCut: boolean): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut });
    return true;
  } catch {
    return false; // the decoder throws for bytes that are not UTF-8
  }
}
