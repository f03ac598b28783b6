export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

export interface ImageHeader {
  readonly mediaType: ImageType;
  readonly width: number;
  readonly height: number;
}

/** The largest image in bytes: servers refuse more. */
export const MOST_IMAGE_BYTES = 5 * 1024 * 1024;
/** The longest side in pixels: servers refuse more. */
const LONGEST_SIDE = 8000;

/** The bytes of a base64 text, also of a data URL, wrapped lines or the URL-safe alphabet. null: not base64. */
export function bytesOfBase64(text: string): Buffer | null {
  const plain = text.replace(/^data:[^,]{0,200},/u, '').replaceAll(/\s/gu, '');
  return /^[A-Za-z0-9+/_-]*={0,2}$/u.test(plain) ? Buffer.from(plain, 'base64') : null;
}

/** The type by the first bytes; null: another type. */
export function imageTypeOf(bytes: Uint8Array): ImageType | null {
  if (begins(bytes, '\x89PNG\r\n\x1a\n')) return 'image/png';
  if (begins(bytes, '\xff\xd8\xff')) return 'image/jpeg';
  if (begins(bytes, 'GIF87a') || begins(bytes, 'GIF89a')) return 'image/gif';
  return begins(bytes, 'RIFF') && begins(bytes, 'WEBP', 8) ? 'image/webp' : null;
}

/** The header of a complete image file, or why no model would accept the file, as "it is …". */
export function imageIn(bytes: Uint8Array): ImageHeader | { readonly why: string } {
  const mediaType = imageTypeOf(bytes);
  if (mediaType === null) return { why: `it is ${kindOf(bytes)}; models take PNG, JPEG, GIF and WebP` };
  const size = SIZES[mediaType](bytes);
  if (size === null) return { why: 'it is cut off, or damaged' };
  const { width, height } = size;
  const pixels = `it has ${width} × ${height} pixels`;
  if (width === 0 || height === 0) return { why: pixels };
  if (Math.max(width, height) > LONGEST_SIDE) return { why: `${pixels}; servers take at most ${LONGEST_SIDE} on a side` };
  return { mediaType, width, height };
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** null: the file is cut off. */
const SIZES: Readonly<Record<ImageType, (bytes: Uint8Array) => Size | null>> = {
  'image/png': pngSize,
  'image/jpeg': jpegSize,
  'image/gif': gifSize,
  'image/webp': webpSize,
};

/** https://www.w3.org/TR/png-3/#5Chunk-layout */
function pngSize(bytes: Uint8Array): Size | null {
  const view = viewOf(bytes);
  if (bytes.length < 33 || !begins(bytes, 'IHDR', 12)) return null;
  for (let at = 8; at + 12 <= bytes.length; at += 12 + view.getUint32(at))
    if (begins(bytes, 'IEND', at + 4)) return { width: view.getUint32(16), height: view.getUint32(20) };
  return null;
}

/**
 * https://www.w3.org/Graphics/JPEG/itu-t81.pdf, annex B: segments up to the scan, which ends with FF D9; in it, FF precedes 0 or a restart.
 */
function jpegSize(bytes: Uint8Array): Size | null {
  const view = viewOf(bytes);
  let size: Size | null = null;
  for (let at = 2; at + 4 <= bytes.length;) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes[at + 1] as number;
    if (marker === 0xff) {
      at += 1; // fill byte
      continue;
    }
    if (marker === 0xda) return size !== null && endsScan(bytes, at) ? size : null;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame && at + 9 <= bytes.length) size = { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    at += 2 + view.getUint16(at + 2);
  }
  return null;
}

/** Searched from the end, since cameras write more data after the end mark. */
function endsScan(bytes: Uint8Array, from: number): boolean {
  for (let at = bytes.length - 2; at > from; at -= 1) if (bytes[at] === 0xff && bytes[at + 1] === 0xd9) return true;
  return false;
}

/** https://www.w3.org/Graphics/GIF/spec-gif89a.txt: the last byte is `;`, or a few fill bytes follow. */
function gifSize(bytes: Uint8Array): Size | null {
  const view = viewOf(bytes);
  if (bytes.length < 14 || !bytes.subarray(-16).includes(0x3b)) return null;
  return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
}

/** https://developers.google.com/speed/webp/docs/riff_container: lossy, lossless, or extended. */
function webpSize(bytes: Uint8Array): Size | null {
  const view = viewOf(bytes);
  // Some programs leave out the byte that makes a length even.
  if (bytes.length < 30 || view.getUint32(4, true) + 7 > bytes.length) return null;
  if (begins(bytes, 'VP8 ', 12)) return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  if (begins(bytes, 'VP8L', 12)) {
    const bits = view.getUint32(21, true);
    return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
  }
  if (!begins(bytes, 'VP8X', 12)) return null;
  return { width: (view.getUint32(24, true) & 0xffffff) + 1, height: (view.getUint32(26, true) >>> 8) + 1 };
}

/** The names of files that people take for images, most specific first. */
const KINDS: readonly (readonly [at: number, bytes: string, kind: string])[] = [
  [0, 'version https://git-lfs.github.com/', 'a Git LFS pointer: the file itself has not been fetched (git lfs pull)'],
  [0, '%PDF', 'a PDF'],
  [0, 'PK\x03\x04', 'a zip archive'],
  [0, '\x1f\x8b', 'compressed by gzip'],
  [0, 'BM', 'a BMP image'],
  [0, 'II*\0', 'a TIFF image'],
  [0, 'MM\0*', 'a TIFF image'],
  [0, '\0\0\x01\0', 'an icon (ICO)'],
  [0, '8BPS', 'a Photoshop file'],
  [0, '\xff\x0a', 'a JPEG XL image'],
  [4, 'JXL ', 'a JPEG XL image'],
  [4, 'jP  ', 'a JPEG 2000 image'],
  [4, 'ftypavi', 'an AVIF image'],
  [4, 'ftyphe', 'a HEIC image'],
  [4, 'ftypmif1', 'a HEIC image'],
  [4, 'ftypmsf1', 'a HEIC image'],
  [4, 'ftyp', 'a video'],
];

function kindOf(bytes: Uint8Array): string {
  if (bytes.length === 0) return 'empty';
  const known = KINDS.find(([at, text]) => begins(bytes, text, at));
  if (known !== undefined) return known[2];
  const text = textIn(bytes.subarray(0, 1024));
  if (text === null) return 'no image';
  if (/<svg\b/iu.test(text)) return 'an SVG drawing';
  if (/^\s*<(?:!doctype html|html|head|body)/iu.test(text)) return 'an HTML page, perhaps the error of a download';
  return 'text';
}

/** The text of the bytes, whose last character may be cut off; null: they are not text. */
function textIn(bytes: Uint8Array): string | null {
  const text = new TextDecoder().decode(bytes);
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  return /[\0-\x08\x0e-\x1f\ufffd]/u.test(text.slice(0, -1)) ? null : text;
}

/** `text` has one byte per letter. */
function begins(bytes: Uint8Array, text: string, at = 0): boolean {
  if (bytes.length < at + text.length) return false;
  for (let index = 0; index < text.length; index += 1) if (bytes[at + index] !== text.charCodeAt(index)) return false;
  return true;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
