import type { ToolResult } from 'pith';
import { describe, expect, it, vi } from 'vitest';
import { resultOf } from '../../../sandbox/extensions/mcp/tool-results.ts';
import { jpeg, png } from '../../fixtures/images.ts';

const PNG = png(4, 3).toString('base64');
const JPEG = jpeg(4, 3).toString('base64');
const text = (said: string) => ({ type: 'text', text: said });
const image = (data: unknown, mimeType: unknown = 'image/png') => ({ type: 'image', data, mimeType });
const resource = (given: object) => ({ type: 'resource', resource: given });
const imagesOf = (result: ToolResult) => (result.ok ? (result.images ?? []) : []);

const like = (pattern: RegExp): unknown => expect.stringMatching(pattern);

/** What servers answer, and what a model gets. */
const TEXTS: readonly (readonly [what: string, given: unknown, output: unknown])[] = [
  ['text', { content: [text('one')] }, 'one'],
  ['several texts', { content: [text('one'), text('two')] }, 'one\ntwo'],
  ['no part', { content: [] }, '[the server answered nothing]'],
  ['nothing', {}, like(/^\[a part without a type: \{\}\]$/u)],
  ['content that is null', { content: null }, '[the server answered nothing]'],
  ['content that is a text', { content: 'plain' }, 'plain'],
  ['content that is one part', { content: text('alone') }, 'alone'],
  ['parts that are texts', { content: ['a', 'b'] }, 'a\nb'],
  ['a part that is null', { content: [null, text('rest')] }, 'rest'],
  ['a part without a type', { content: [{ text: 'typeless' }] }, 'typeless'],
  [
    'a type that is a media type',
    { content: [{ type: 'application/json', json: { a: 1 } }, text('rest')] },
    like(/^\[a part of type 'application\/json': .*"a":1.*\]\nrest$/u),
  ],
  ['a type that nobody knows', { content: [{ type: 'video', data: 'AAAA' }] }, like(/^\[a part of type 'video': /u)],
  ['text that is a number', { content: [{ type: 'text', text: 7 }, text('rest')] }, like(/^\[a part of type 'text': .*7.*\]\nrest$/u)],
  ['a large odd part', { content: [{ type: 'x', data: 'y'.repeat(9000) }] }, /… \d+ characters more\]$/u],
  ['the form of the first protocol', { toolResult: { answer: 42 } }, like(/"answer":42/u)],
  ['a list in place of an answer', [text('listed')], 'listed'],
  ['control characters', { content: [text('a\u001b[2Jb\u202e')] }, String.raw`a\x1b[2Jb\u{202e}`],
  [
    'more text than a model should read',
    { content: [text('z'.repeat(150_000))] },
    like(/z… \[50000 characters more; ask the tool for less\]$/u),
  ],

  ['a structured part alone', { structuredContent: { n: 1 } }, { n: 1 }],
  ['the same as text', { content: [text('{"n": 1}')], structuredContent: { n: 1 } }, { n: 1 }],
  ['the same as text in another order', { content: [text('{"b":2,"a":1}')], structuredContent: { a: 1, b: 2 } }, { a: 1, b: 2 }],
  [
    'another text beside it',
    { content: [text('the body')], structuredContent: { file: 'x' } },
    { text: 'the body', structured: { file: 'x' } },
  ],
  [
    'a summary beside it',
    { content: [text('3 items')], structuredContent: { items: [1, 2, 3] } },
    { text: '3 items', structured: { items: [1, 2, 3] } },
  ],
  ['the same text in a map', { content: [text('the body')], structuredContent: { content: 'the body' } }, 'the body'],
  ['a list as text that has a name there', { content: [text('[1]')], structuredContent: { items: [1] } }, { items: [1] }],
  ['all parts under a name', { content: [text('a'), text('b')], structuredContent: { content: [text('a'), text('b')] } }, 'a\nb'],
  ['a structured list', { content: [], structuredContent: [1, 2] }, [1, 2]],
  ['a structured part that is null', { content: [text('x')], structuredContent: null }, 'x'],
  [
    'a structured part that is too large',
    { structuredContent: { all: 'q'.repeat(120_000) } },
    like(/^\{"all":"q+… \[\d+ characters more/u),
  ],

  ['a resource with text', { content: [resource({ uri: 'file:///a.md', text: '# A' })] }, '[file:///a.md]\n# A'],
  [
    'a resource whose text is bytes',
    { content: [resource({ uri: 'u:1', mimeType: 'text/plain', blob: Buffer.from('hällo').toString('base64') })] },
    '[u:1]\nhällo',
  ],
  ['a resource that is JSON in bytes', { content: [resource({ uri: 'u:2', mimeType: 'application/json', blob: 'e30=' })] }, '[u:2]\n{}'],
  [
    'a resource of bytes',
    { content: [resource({ uri: 'u:3', mimeType: 'application/pdf', blob: 'JVBERg==' })] },
    '[u:3: application/pdf, 4 bytes]',
  ],
  ['a resource without content', { content: [resource({ uri: 'u:4' })] }, '[u:4: the server sent no content]'],
  ['a resource that is none', { content: [{ type: 'resource', resource: 'x' }] }, like(/^\[a part of type 'resource'/u)],
  [
    'a link',
    { content: [{ type: 'resource_link', name: 'a.txt', uri: 'file:///a.txt', mimeType: 'text/plain', size: 12 }] },
    '[a.txt: file:///a.txt (text/plain, 12 bytes)]',
  ],
  ['a link without a name', { content: [{ type: 'resource_link', uri: 'u:5' }] }, '[a resource: u:5]'],
  ['sound', { content: [{ type: 'audio', mimeType: 'audio/wav', data: 'AAAA' }] }, '[audio: audio/wav, 3 bytes]'],

  ['an image that is a text', { content: [image('not base64!!')] }, like(/^\[image: image\/png, not base64: not base64!!\]$/u)],
  ['an image that is an address', { content: [image('https://example.org/a.png')] }, '[image: image/png, at https://example.org/a.png]'],
  ['an image of no bytes', { content: [image('')] }, '[image: image/png, empty]'],
  [
    'an image that is a page',
    { content: [image(Buffer.from('<html>').toString('base64'))] },
    like(/^\[image: image\/png, 6 bytes; it is .*; models take PNG, JPEG, GIF and WebP\]$/u),
  ],
  ['an image of a kind that models do not take', { content: [image('SUkqAA==', 'image/tiff')] }, like(/models take PNG/u)],
  ['an image that is cut off', { content: [image(png(4, 3).subarray(0, 40).toString('base64'))] }, like(/; it is cut off, or damaged\]$/u)],
];

/** Answers with images, whatever they say of them. */
const IMAGES: readonly (readonly [what: string, part: unknown, mediaType: string])[] = [
  ['a PNG', image(PNG), 'image/png'],
  ['a type that is wrong', image(JPEG, 'image/png'), 'image/jpeg'],
  ['a type that is no image', image(PNG, 'application/png'), 'image/png'],
  ['no type', { type: 'image', data: PNG }, 'image/png'],
  ['the name that others have for a type', { type: 'image', data: JPEG, mediaType: 'image/jpeg' }, 'image/jpeg'],
  ['a data URL', image(`data:image/png;base64,${PNG}`), 'image/png'],
  ['base64 in lines', image(PNG.replace(/(.{8})/gu, '$1\n')), 'image/png'],
  ['base64 for URLs', image(JPEG.replaceAll('+', '-').replaceAll('/', '_')), 'image/jpeg'],
  ['a resource', resource({ uri: 'u:6', mimeType: 'image/png', blob: PNG }), 'image/png'],
  ['a resource as a data URL', resource({ uri: 'u:7', blob: `data:image/png;base64,${PNG}` }), 'image/png'],
];

const ERRORS: readonly (readonly [what: string, given: unknown, message: string])[] = [
  ['a text', { isError: true, content: [text('closed today')] }, 'closed today'],
  ['no text', { isError: true, content: [] }, 'the server gave no reason'],
  ['details', { isError: true, content: [text('refused')], structuredContent: { code: 'NOT_FOUND' } }, 'refused\n{"code":"NOT_FOUND"}'],
  ['details that say the same', { isError: true, content: [text('{"code":1}')], structuredContent: { code: 1 } }, '{"code":1}'],
  ['an odd part', { isError: true, content: [{ type: 7 }, text('why')] }, '[a part without a type: {"type":7}]\nwhy'],
];

describe('what an MCP server answers', () => {
  it.each(TEXTS)('V6: %s', (_what, given, output) => {
    const result = resultOf(given);
    expect(result).toMatchObject({ ok: true, output });
    expect(result).not.toHaveProperty('images');
  });

  it.each(IMAGES)('V6: an image with %s is an image to the model, and a line', (_what, part, mediaType) => {
    const result = resultOf({ content: [text('see'), part] });
    expect(result).toMatchObject({ ok: true, output: expect.stringMatching(/^see\n\[.*\d+ bytes\]$/u), images: [{ mediaType }] });
    expect(imagesOf(result)[0]?.data).toMatch(/^[A-Za-z0-9+/]+=*$/u);
  });

  it('V6: an image that is in the structured part as well is no text', () => {
    const content = [image(PNG)];
    expect(resultOf({ content, structuredContent: { content } })).toMatchObject({
      output: expect.stringMatching(/^\[image: image\/png, \d+ bytes\]$/u),
      images: [{}],
    });
  });

  it.each(ERRORS)('V6: an error with %s keeps what it says', (_what, given, message) => {
    expect(resultOf(given)).toEqual({ ok: false, error: { code: 'mcp_error', message } });
  });

  it('V10: a thousand texts beside a large structured part are compared by its form, which is made once', () => {
    const structured = { list: Array.from({ length: 3000 }, (_, at) => ({ at, name: `n${at}` })) };
    const written = vi.spyOn(JSON, 'stringify');
    const parsed = vi.spyOn(JSON, 'parse');
    const result = resultOf({
      content: [text(JSON.stringify(structured, null, 2)), ...Array.from({ length: 900 }, () => text('{"a":1}'))],
      structuredContent: structured,
    });
    expect([written.mock.calls.length, parsed.mock.calls.length]).toEqual([expect.toSatisfy((count: number) => count < 10), 1]);
    vi.restoreAllMocks();
    expect(result).toMatchObject({ ok: true, output: { structured } });
    expect(JSON.stringify(result).split('n2999')).toHaveLength(2);
  });

  it('V10: of a hundred thousand parts a thousand are read', () => {
    const content = Array.from({ length: 100_000 }, () => ({}));
    expect(resultOf({ content })).toMatchObject({ output: expect.stringMatching(/\[99000 parts more\]$/u) });
  });

  it.each([
    ['20,000 levels', 20_000, /^good\n\[a structured part that is nested too deep/u],
    ['100 levels', 100, /^good\n(?:\{"a":)+1\}+$/u],
  ])('V6: a structured part of %s, or a part, costs nothing of the text beside it', (_what, levels, output) => {
    const nested = JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as unknown;
    expect(resultOf({ content: [text('good')], structuredContent: nested })).toMatchObject({
      ok: true,
      output: expect.stringMatching(output),
    });
    expect(resultOf({ content: [text('good'), nested] })).toMatchObject({ ok: true, output: expect.stringMatching(/^good\n\[a part/u) });
    expect(resultOf({ content: [text('good')], structuredContent: { content: nested } })).toMatchObject({ ok: true });
    expect(resultOf({ content: nested, isError: true, structuredContent: nested })).toMatchObject({ ok: false });
  });
});
