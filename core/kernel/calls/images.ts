import { bytesOfBase64, imageIn, MOST_IMAGE_BYTES } from '@pith/image-header';
import type { ToolResult } from '../../contract/index.ts';

type ImageBytes = NonNullable<Extract<ToolResult, { readonly ok: true }>['images']>[number];

const MOST_IMAGES = 8;
/** Characters of base64 in one result, which has at most 16 million characters in all: 10 MB. */
const MOST_RESULT_DATA = 13_333_333;
/** Characters of base64 of one message or one request: 20 MB. */
export const MOST_IMAGE_DATA = 26_666_667;

/** Images of a result as models take them, each of the type that its bytes have, and one line for each that none would take. */
export function checkedImages(images: readonly unknown[]): { readonly images: readonly ImageBytes[]; readonly leftOut: readonly string[] } {
  const checked: ImageBytes[] = [];
  const leftOut: string[] = [];
  let total = 0;
  for (const image of images) {
    const found = checkedImage((image as Partial<ImageBytes> | null)?.data);
    const why = 'why' in found ? found.why : whyTooMuch(checked.length, total + found.data.length);
    if (why !== null) leftOut.push(lineOfImage(why));
    else if ('data' in found) {
      checked.push(found);
      total += found.data.length;
    }
  }
  return { images: checked, leftOut };
}

function whyTooMuch(before: number, size: number): string | null {
  if (before >= MOST_IMAGES) return `at most ${MOST_IMAGES} are sent at once`;
  return size > MOST_RESULT_DATA ? 'with the images before it, it is more than the 10 MB that are sent at once' : null;
}

/** What is said in the place of an image that is not sent. */
export function lineOfImage(why: string): string {
  return `[an image was left out: ${why}]`;
}

/** An image in base64, written as servers take it and with the type that its bytes have, or why no model would take it. */
export function checkedImage(given: unknown): ImageBytes | { readonly why: string } {
  const bytes = typeof given === 'string' ? bytesOfBase64(given) : null;
  if (bytes === null) return { why: 'it is not base64' };
  if (bytes.length > MOST_IMAGE_BYTES) return { why: 'it has more than 5 MiB; make it smaller' };
  const found = imageIn(bytes);
  return 'why' in found ? found : { mediaType: found.mediaType, data: bytes.toString('base64') };
}
