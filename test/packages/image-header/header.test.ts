import { describe, expect, it } from 'vitest';
import { imageIn, imageTypeOf } from '@pith/image-header';
import { gif, jpeg, png, webp } from '../../fixtures/images.ts';

const of = (text: string) => Buffer.from(text, 'latin1');
const cut = (file: Buffer) => file.subarray(0, file.length - 9);
const SVG = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>';
const LFS = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n';

describe('V11 an image is told by its bytes', () => {
  it.each([
    [png(640, 480), 'image/png', 640, 480],
    [png(8000, 1), 'image/png', 8000, 1],
    [jpeg(4000, 3000), 'image/jpeg', 4000, 3000],
    [Buffer.concat([jpeg(3, 2), of('what a camera adds')]), 'image/jpeg', 3, 2],
    [gif(300, 200), 'image/gif', 300, 200],
    [Buffer.concat([gif(3, 2), of('\0\0')]), 'image/gif', 3, 2],
    [webp('VP8 ', 550, 368), 'image/webp', 550, 368],
    [webp('VP8L', 386, 395), 'image/webp', 386, 395],
    [webp('VP8X', 8000, 257), 'image/webp', 8000, 257],
  ])('%#: its type and its size', (file, mediaType, width, height) => {
    expect(imageIn(file)).toEqual({ mediaType, width, height });
    expect(imageTypeOf(file.subarray(0, 16))).toBe(mediaType);
  });

  it.each([
    ['nothing', of(''), 'it is empty'],
    ['a pointer of Git LFS', of(LFS), 'it is a Git LFS pointer'],
    ['an error page', of('\n<!DOCTYPE html><html><body>404</body></html>'), 'it is an HTML page'],
    ['a page without a doctype', of('<HTML lang="de">'), 'it is an HTML page'],
    ['a drawing', of(SVG), 'it is an SVG drawing'],
    ['an error in JSON', of('{"message":"Not Found"}'), 'it is text'],
    ['text that is cut within a character', Buffer.from('größer').subarray(0, 3), 'it is text'],
    ['HEIC of a phone', of('\0\0\0\x18ftypheic\0\0\0\0'), 'it is a HEIC image'],
    ['HEIF', of('\0\0\0\x18ftypmif1\0\0\0\0'), 'it is a HEIC image'],
    ['AVIF', of('\0\0\0\x1cftypavif\0\0\0\0'), 'it is an AVIF image'],
    ['a video', of('\0\0\0\x18ftypmp42\0\0\0\0'), 'it is a video'],
    ['BMP', of('BM\x36\0\0\0'), 'it is a BMP image'],
    ['TIFF', of('II*\0\x08\0\0\0'), 'it is a TIFF image'],
    ['an icon', of('\0\0\x01\0\x01\0'), 'it is an icon'],
    ['JPEG XL', of('\xff\x0a\xfa'), 'it is a JPEG XL image'],
    ['JPEG 2000', of('\0\0\0\x0cjP  \r\n'), 'it is a JPEG 2000 image'],
    ['PDF', of('%PDF-1.7'), 'it is a PDF'],
    ['a zip', of('PK\x03\x04\0'), 'it is a zip archive'],
    ['gzip', of('\x1f\x8b\x08'), 'it is compressed by gzip'],
    ['sound in the same container', of('RIFF\x24\0\0\0WAVEfmt '), 'it is no image'],
    ['noise', of('\x07\x91\x03\xfe\x80'), 'it is no image'],
    ['the first bytes of a PNG', png().subarray(0, 8), 'it is cut off'],
    ['a PNG that was not loaded to its end', cut(png(20, 20, 500)), 'it is cut off'],
    ['a PNG whose chunk has a length beyond the file', Buffer.concat([png().subarray(0, 33), of('\xff\xff\xff\xffIDAT')]), 'it is cut off'],
    ['a PNG without a header', Buffer.concat([png().subarray(0, 12), of('JUNK'), png().subarray(16)]), 'it is cut off'],
    ['a JPEG whose thumbnail alone ends', jpeg().subarray(0, -2), 'it is cut off'],
    ['a JPEG without a frame', of('\xff\xd8\xff\xda\0\x02\xff\xd9'), 'it is cut off'],
    ['a JPEG with a segment that does not begin', of('\xff\xd8\xff\xe0\0\x04abnonsense'), 'it is cut off'],
    ['a GIF of six bytes', of('GIF89a'), 'it is cut off'],
    ['a GIF without an end', Buffer.concat([gif().subarray(0, -1), Buffer.alloc(40)]), 'it is cut off'],
    ['a WebP that is shorter than it says', webp('VP8L').subarray(0, -4), 'it is cut off'],
    [
      'a WebP of a kind that there is not',
      Buffer.concat([webp('VP8X').subarray(0, 12), of('VP9 '), webp('VP8X').subarray(16)]),
      'it is cut off',
    ],
    ['no width', png(0, 3), 'it has 0 × 3 pixels'],
    ['no height', jpeg(3, 0), 'it has 3 × 0 pixels'],
    ['a screenshot of a long page', png(1200, 8001), 'it has 1200 × 8001 pixels; servers take at most 8000 on a side'],
  ])('%s is said for what it is', (_, file, why) => {
    expect(imageIn(file)).toEqual({ why: expect.stringMatching(new RegExp(`^${why}`)) });
  });

  it('hostile lengths cost no time', () => {
    const zeros = Buffer.concat([png().subarray(0, 33), Buffer.alloc(2_000_000)]);
    expect(imageIn(zeros)).toEqual({ why: expect.stringContaining('cut off') });
    const segments = Buffer.concat([of('\xff\xd8'), Buffer.alloc(2_000_000, of('\xff\xe0\0\x02'))]);
    expect(imageIn(segments)).toEqual({ why: expect.stringContaining('cut off') });
  });
});
