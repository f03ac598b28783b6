import { imageIn, MOST_IMAGE_BYTES } from '@pith/image-header';
import { runProgram } from '@pith/supervised-process';
import type { Attachment } from './conversation.ts';

export type Image = Extract<Attachment, { image: unknown }>['image'];

/** A program that prints the image in the clipboard. */
interface ClipboardProgram {
  readonly argv: readonly string[];
  /** How it prints the bytes. */
  readonly as: 'bytes' | 'hex' | 'base64';
}

const WINDOWS =
  'Add-Type -AssemblyName System.Windows.Forms,System.Drawing; $i=[Windows.Forms.Clipboard]::GetImage(); ' +
  'if($i){$m=New-Object IO.MemoryStream; $i.Save($m,[Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray())}';

/** Of Wayland, X11, macOS, and Windows around WSL. */
const PROGRAMS: readonly ClipboardProgram[] = [
  { argv: ['wl-paste', '--type', 'image/png'], as: 'bytes' },
  { argv: ['xclip', '-selection', 'clipboard', '-target', 'image/png', '-out'], as: 'bytes' },
  { argv: ['pngpaste', '-'], as: 'bytes' },
  { argv: ['osascript', '-e', 'get the clipboard as «class PNGf»'], as: 'hex' },
  { argv: ['powershell.exe', '-NoProfile', '-STA', '-Command', WINDOWS], as: 'base64' },
];

const MOST_MS = 10_000;

/** The image in the clipboard, by the first program that finds one; else why there is none. */
export async function clipboardImage(programs = PROGRAMS): Promise<Image | { readonly why: string }> {
  let why = 'no program reads images from the clipboard here: install wl-clipboard (Wayland), xclip (X11) or pngpaste (macOS)';
  for (const { argv, as } of programs) {
    const end = await runProgram({ argv, mostBytes: 3 * MOST_IMAGE_BYTES, mostMs: MOST_MS }).catch(() => null); // the program is not there
    if (end === null) continue;
    const bytes = decoded(end.output, as);
    const found = end.code === 0 ? imageIn(bytes) : null;
    if (found === null || bytes.length === 0) why = 'there is no image in the clipboard';
    else if ('why' in found) why = found.why;
    else if (bytes.length > MOST_IMAGE_BYTES) why = `the image is larger than ${MOST_IMAGE_BYTES / 1024 / 1024} MB`;
    else return { mediaType: found.mediaType, data: bytes.toString('base64') };
  }
  return { why };
}

function decoded(output: Buffer, as: ClipboardProgram['as']): Buffer {
  if (as === 'bytes') return output;
  if (as === 'base64') return Buffer.from(output.toString('latin1'), 'base64');
  return Buffer.from(/PNGf([0-9A-F]+)/u.exec(output.toString('latin1'))?.[1] ?? '', 'hex');
}
