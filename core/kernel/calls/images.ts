import { PithError, type ToolResult } from '../../contract/index.ts';

type ImageBytes = NonNullable<Extract<ToolResult, { readonly ok: true }>['images']>[number];

const TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const MOST_IMAGES = 8;
/** Characters of base64: 5 MiB. */
const MOST_DATA = 6_990_508;

/** Images as models take them. Throws `not_serialisable` for other kinds, for what is not base64, and for too many or too large ones. */
export function checkedImages(images: readonly ImageBytes[]): readonly ImageBytes[] {
  if (images.length > MOST_IMAGES) throw refused(`${images.length} images; at most ${MOST_IMAGES} are sent at once`);
  return images.map(({ mediaType, data }) => {
    if (!TYPES.has(mediaType)) throw refused(`an image of type '${String(mediaType)}'; models take PNG, JPEG, GIF and WebP`);
    if (typeof data !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/u.test(data)) throw refused('an image that is not base64');
    if (data.length > MOST_DATA) throw refused('an image of more than 5 MiB; make it smaller');
    return { mediaType, data };
  });
}

function refused(what: string): PithError {
  return new PithError('not_serialisable', `cannot send ${what}`);
}
