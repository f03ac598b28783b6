/** Bytes of a page as text, by what they begin with, by what the server says, and by what an HTML page says of itself. */
export function decoded(bytes: Uint8Array, contentType: string, isHtml: boolean): string {
  const said = byteOrderMark(bytes) ?? charsetOf(contentType) ?? (isHtml ? charsetIn(bytes) : null);
  const decoder = said === null ? null : decoderOf(said);
  if (decoder !== null) return decoder.decode(bytes);
  try {
    // The end may be cut within a character, which `stream` allows.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder('windows-1252').decode(bytes); // as browsers read what is no UTF-8 and names nothing
  }
}

function byteOrderMark([first, second, third]: Uint8Array): string | null {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : null;
}

function charsetOf(contentType: string): string | null {
  return /\bcharset\s*=\s*["']?([\w:.-]+)/i.exec(contentType)?.[1] ?? null;
}

/** HTML must say it within its first 1,024 bytes; many pages are late. A page that can be read like this is not in UTF-16. */
function charsetIn(bytes: Uint8Array): string | null {
  const beginning = new TextDecoder('latin1').decode(bytes.subarray(0, 4096));
  const said = /<meta\b[^>]{0,300}?\bcharset\s*=\s*["']?([\w:.-]+)/i.exec(beginning)?.[1] ?? null;
  return said !== null && /^utf-?16/i.test(said) ? 'utf-8' : said;
}

function decoderOf(label: string): InstanceType<typeof TextDecoder> | null {
  try {
    return new TextDecoder(label);
  } catch {
    return null; // no encoding that anybody knows
  }
}
