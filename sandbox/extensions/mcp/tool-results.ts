import { bytesOfBase64, imageIn } from '@pith/image-header';
import { canonicalJson, isPlainMap, jsonOf } from '@pith/plain-data';
import { printableLine, printable } from '@pith/plain-text';
import { type JsonValue, toolError, toolResult, type ToolResult } from 'pith';

const LONGEST_TEXT = 100_000;
/** How deep data may be that is passed on as it is; the kernel refuses what is deeper. */
const DEEPEST_DATA = 50;
const LONGEST_ODD_PART = 2000;
const MOST_PARTS = 1000;

type Fields = Readonly<Record<string, unknown>>;
type Image = NonNullable<Extract<ToolResult, { readonly ok: true }>['images']>[number];
/** What a part is to the model: a text, or an image with the text that stands for it where images are not taken. */
type Part = { readonly text: string; readonly image?: Image };

/**
 * What a server answered to `tools/call`, as the model gets it. Each part is read by itself: one that is odd is described, and costs the
 * others nothing.
 */
export function resultOf(given: unknown): ToolResult {
  const answer: Fields = isPlainMap(given) ? given : { content: given };
  const content = 'content' in answer || 'structuredContent' in answer ? answer['content'] : (answer['toolResult'] ?? given);
  const parts = readParts(content);
  const structured = withoutCopy(answer['structuredContent'] ?? undefined, content, parts);
  const json = structured === undefined ? '' : (asJson(structured) ?? TOO_DEEP);
  const isCopy = copyOf(structured);
  const texts = parts.map(({ text }) => text).filter((text) => text !== '' && !isCopy(text));
  if (answer['isError'] === true) {
    const all = [...texts, ...(json === '' || json === '{}' ? [] : [json])].join('\n');
    return toolError('mcp_error', all === '' ? 'the server gave no reason' : shown(all));
  }
  const text = shown(texts.join('\n'));
  const images = parts.flatMap(({ image }) => (image === undefined ? [] : [image]));
  return toolResult(outputOf(text, structured, json), images.length === 0 ? {} : { images });
}

function outputOf(text: string, structured: unknown, json: string): JsonValue {
  if (structured === undefined) return text === '' ? '[the server answered nothing]' : text;
  if (json.length > LONGEST_TEXT || isDeeper(structured, DEEPEST_DATA)) return shown([text, json].filter(Boolean).join('\n'));
  return text === '' ? (structured as JsonValue) : { text, structured: structured as JsonValue };
}

/** Some servers have the parts, or their text, under one name there: undefined where that is all. */
function withoutCopy(structured: unknown, content: unknown, parts: readonly Part[]): unknown {
  if (!isPlainMap(structured) || parts.length === 0) return structured;
  const [value, ...others] = Object.values(structured);
  if (others.length > 0) return structured;
  const isCopy = value === parts.map(({ text }) => text).join('\n') || (canonical(value) ?? NaN) === canonical(content);
  return isCopy ? undefined : structured;
}

/** Servers repeat the structured part, or what it has under its one name, as text for clients that know no other. */
function copyOf(structured: unknown): (text: string) => boolean {
  if (structured === undefined) return () => false;
  const values = isPlainMap(structured) ? Object.values(structured) : [];
  const forms = [structured, ...(values.length === 1 ? values : [])].flatMap((each) => canonical(each) ?? []);
  // Numbers can be written shorter, and no text is much longer but for its indents: all others are not parsed.
  const couldBe = (text: string) => forms.some(({ length }) => text.length >= length / 2 && text.length <= 10 * length + 100);
  return (text) => couldBe(text) && forms.includes(canonical(jsonOf(text)) ?? '');
}

function canonical(value: unknown): string | null {
  try {
    return canonicalJson(value) ?? null;
  } catch {
    return null; // deeper than it can be written
  }
}

const TOO_DEEP = '[a structured part that is nested too deep to be shown]';

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

function readParts(content: unknown): readonly Part[] {
  const given = Array.isArray(content) ? content : content === undefined || content === null ? [] : [content];
  const more = given.length - MOST_PARTS;
  return [...given.slice(0, MOST_PARTS).map(partOf), ...(more > 0 ? [{ text: `[${more} parts more]` }] : [])];
}

function partOf(given: unknown): Part {
  if (typeof given === 'string') return { text: given };
  if (!isPlainMap(given)) return { text: given === null || given === undefined ? '' : odd('a part', given) };
  const { type, text, resource } = given;
  if (type === 'image' || type === 'audio') return media(type, given['data'], given['mimeType'] ?? given['mediaType']);
  if (type === 'resource' && isPlainMap(resource)) return embedded(resource);
  if (type === 'resource_link') return { text: linkText(given) };
  if (typeof text === 'string') return { text };
  return { text: odd(typeof type === 'string' ? `a part of type '${printableLine(type, 40)}'` : 'a part without a type', given) };
}

function odd(what: string, given: unknown): string {
  const json = asJson(given) ?? 'nested too deep to be shown';
  return `[${what}: ${json.length > LONGEST_ODD_PART ? `${json.slice(0, LONGEST_ODD_PART)}… ${json.length - LONGEST_ODD_PART} characters more` : json}]`;
}

function embedded({ uri, mimeType, text, blob }: Fields): Part {
  const name = line(uri) || 'a resource';
  if (typeof text === 'string') return { text: `[${name}]\n${text}` };
  if (typeof blob !== 'string') return { text: `[${name}: the server sent no content]` };
  const part = media('resource', blob, mimeType, name);
  if (part.image !== undefined || !/^text\/|[/+](?:json|xml|yaml|javascript)\b/u.test(line(mimeType))) return part;
  const bytes = bytesOfBase64(blob);
  return bytes === null ? part : { text: `[${name}]\n${new TextDecoder().decode(bytes)}` };
}

function linkText({ name, title, uri, mimeType, size, description }: Fields): string {
  const about = [line(mimeType), typeof size === 'number' ? `${size} bytes` : '', line(description)].filter(Boolean).join(', ');
  return `[${line(title) || line(name) || 'a resource'}: ${line(uri)}${about === '' ? '' : ` (${about})`}]`;
}

/** An image is told by its bytes, whatever its type says; how many and how large ones are sent is the kernel's matter. Of all else it is said what it is. */
function media(kind: string, data: unknown, type: unknown, name: string = kind): Part {
  const said = line(type) || 'no type';
  if (typeof data !== 'string' || data === '') return { text: `[${name}: ${said}, empty]` };
  if (/^https?:\/\//iu.test(data)) return { text: `[${name}: ${said}, at ${line(data)}]` };
  const bytes = bytesOfBase64(data);
  if (bytes === null) return { text: `[${name}: ${said}, not base64: ${line(data.slice(0, 60))}]` };
  const found = imageIn(bytes);
  const what = `${name}: ${said}, ${bytes.length} bytes`;
  if ('mediaType' in found) return { text: `[${what}]`, image: { mediaType: found.mediaType, data: bytes.toString('base64') } };
  return { text: kind === 'image' ? `[${what}; ${found.why}]` : `[${what}]` };
}

function line(text: unknown): string {
  return typeof text === 'string' ? printableLine(text, 500) : '';
}

function shown(text: string): string {
  return shownText(text, LONGEST_TEXT, '; ask the tool for less');
}

/** JSON of what came as JSON. null: it is nested deeper than it can be written. */
export function asJson(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch {
    return null; // its depth is all that can be wrong with it
  }
}

/** As it may be shown, and cut; `cure` says what to do about that. */
export function shownText(text: string, longest: number, cure = ''): string {
  const shown = printable(text.slice(0, longest));
  const more = Math.max(text.length, shown.length) - longest;
  return more > 0 ? `${shown.slice(0, longest)}… [${more} characters more${cure}]` : shown;
}
