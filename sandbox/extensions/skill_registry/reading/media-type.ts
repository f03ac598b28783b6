/** A file's media type by its first bytes, else by its extension, else `application/octet-stream`. */
export function mediaType(path: string, head: Uint8Array): string {
  const start = Buffer.from(head.subarray(0, 12)).toString('latin1');
  for (const [magic, type] of MAGIC) if (start.startsWith(magic)) return EXTENSIONS.get(extensionOf(path)) ?? type;
  return EXTENSIONS.get(extensionOf(path)) ?? 'application/octet-stream';
}

const MAGIC: readonly (readonly [string, string])[] = [
  ['\x89PNG', 'image/png'],
  ['\xff\xd8\xff', 'image/jpeg'],
  ['GIF8', 'image/gif'],
  ['%PDF', 'application/pdf'],
  ['PK\x03\x04', 'application/zip'],
  ['\x1f\x8b', 'application/gzip'],
  ['\x7fELF', 'application/x-executable'],
];

const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['ico', 'image/x-icon'],
  ['pdf', 'application/pdf'],
  ['zip', 'application/zip'],
  ['gz', 'application/gzip'],
  ['woff', 'font/woff'],
  ['woff2', 'font/woff2'],
  ['ttf', 'font/ttf'],
  ['mp3', 'audio/mpeg'],
  ['wav', 'audio/wav'],
  ['mp4', 'video/mp4'],
  ['wasm', 'application/wasm'],
  ['sqlite', 'application/vnd.sqlite3'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
]);

function extensionOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1).toLowerCase();
}
