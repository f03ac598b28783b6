/** What goes with a message. */
export interface Attachment {
  readonly name: string;
  readonly text?: string;
  readonly image?: { readonly mediaType: string; readonly data: string };
}

export const MOST_ATTACHMENTS = 20;
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const MOST_IMAGE_BYTES = 5 * 1024 * 1024;
/** Of a text; the rest is left out, as in a terminal. */
const MOST_TEXT = 256 * 1024;

/** A file as it goes with a message, or why it cannot. The server looks into images. */
export async function attachmentOf(file: File): Promise<Attachment | { readonly why: string }> {
  const name = file.name === '' ? 'pasted' : file.name;
  const refused = (why: string) => ({ why: `${name} is not attached: ${why}` });
  if (IMAGES.includes(file.type)) {
    if (file.size > MOST_IMAGE_BYTES) return refused(`an image has at most ${MOST_IMAGE_BYTES / 1024 / 1024} MB`);
    return { name, image: { mediaType: file.type, data: base64Of(new Uint8Array(await file.arrayBuffer())) } };
  }
  const head = new Uint8Array(await file.slice(0, MOST_TEXT).arrayBuffer());
  const text = textIn(head, file.size > MOST_TEXT);
  if (text === null) return refused('it is neither text nor an image that models take');
  if (text === '') return refused('it is empty');
  const rest = file.size > MOST_TEXT ? `\n[The rest is left out: the file has ${file.size} bytes.]` : '';
  return { name, text: `${text}${rest}` };
}

/** null: it is no text. `isCut`: its last character may be cut. */
function textIn(bytes: Uint8Array, isCut: boolean): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut });
    return text.includes('\0') ? null : text;
  } catch {
    return null; // no UTF-8
  }
}

function base64Of(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 0x8000) parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  return btoa(parts.join(''));
}
