import { imageIn } from '@pith/image-header';
import { canonicalJson, isPlainMap } from '@pith/plain-data';
import { printable, printableLine } from '@pith/plain-text';
import { type JsonValue, toolError, toolResult, type ToolResult } from 'pith';

const LONGEST_TEXT = 100_000;
const LONGEST_ODD_PART = 2000;

type Fields = Readonly<Record<string, unknown>>;
type Image = NonNullable<Extract<ToolResult, { readonly ok: true }>['images']>[number];
/** What a part is to the model: a text, or an image with the text that stands for it where images are not taken. */
type Part = { readonly text: string; readonly image?: Image };

/**
 * What a server answered to `tools/call`, as the model gets it. Each part is read by itself: one that is odd is described, and costs the
 * others nothing. `outputSchema` is what the server said of the structured part; a mismatch is a note, because the call took effect.
 */
export function resultOf(given: unknown, outputSchema?: Fields): ToolResult {
  const answer: Fields = isPlainMap(given) ? given : { content: given };
  const content = 'content' in answer || 'structuredContent' in answer ? answer['content'] : (answer['toolResult'] ?? given);
  const parts = readParts(content);
  const structured = withoutCopy(answer['structuredContent'] ?? undefined, content, parts);
  const json = structured === undefined ? '' : JSON.stringify(structured);
  const texts = parts.map(({ text }) => text).filter((text) => text !== '' && !says(text, structured, json));
  if (answer['isError'] === true) {
    const all = [...texts, ...(json === '' || json === '{}' ? [] : [json])].join('\n');
    return toolError('mcp_error', all === '' ? 'the server gave no reason' : shownText(all));
  }
  const problem = structured === undefined || outputSchema === undefined ? null : mismatch(structured, outputSchema, 'the structured part');
  const notes = problem === null ? [] : [`[not as the tool declares it: ${problem}]`];
  const text = shownText([...texts, ...notes].join('\n'));
  const images = parts.flatMap(({ image }) => (image === undefined ? [] : [image]));
  return toolResult(outputOf(text, structured, json), images.length === 0 ? {} : { images });
}

function outputOf(text: string, structured: unknown, json: string): JsonValue {
  if (structured === undefined) return text === '' ? '[the server answered nothing]' : text;
  if (json.length > LONGEST_TEXT) return shownText([text, json].filter(Boolean).join('\n'));
  return text === '' ? (structured as JsonValue) : { text, structured: structured as JsonValue };
}

/** Some servers have the parts, or their text, under one name there: undefined where that is all. */
function withoutCopy(structured: unknown, content: unknown, parts: readonly Part[]): unknown {
  if (!isPlainMap(structured) || parts.length === 0) return structured;
  const [value, ...others] = Object.values(structured);
  const isCopy = value === parts.map(({ text }) => text).join('\n') || canonicalJson(value) === canonicalJson(content);
  return others.length === 0 && isCopy ? undefined : structured;
}

/** Servers repeat the structured part, or what it has under its one name, as text for clients that know no other. */
function says(text: string, structured: unknown, json: string): boolean {
  if (structured === undefined) return false;
  try {
    const said = canonicalJson(JSON.parse(text));
    const values = isPlainMap(structured) ? Object.values(structured) : [];
    return said === canonicalJson(structured) || (values.length === 1 && said === canonicalJson(values[0]));
  } catch {
    return text.trim() === json; // no JSON, or nested too deep to be compared
  }
}

function readParts(content: unknown): readonly Part[] {
  const given = Array.isArray(content) ? content : content === undefined || content === null ? [] : [content];
  return given.map(partOf);
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
  const json = JSON.stringify(given);
  return `[${what}: ${json.length > LONGEST_ODD_PART ? `${json.slice(0, LONGEST_ODD_PART)}… ${json.length - LONGEST_ODD_PART} characters more` : json}]`;
}

function embedded({ uri, mimeType, text, blob }: Fields): Part {
  const name = line(uri) || 'a resource';
  if (typeof text === 'string') return { text: `[${name}]\n${text}` };
  if (typeof blob !== 'string') return { text: `[${name}: the server sent no content]` };
  const part = media('resource', blob, mimeType, name);
  if (part.image !== undefined || !/^text\/|[/+](?:json|xml|yaml|javascript)\b/u.test(line(mimeType))) return part;
  const bytes = bytesOf(blob);
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
  const bytes = bytesOf(data.replace(/^data:[^,]{0,200},/u, '').replaceAll(/\s/gu, ''));
  if (bytes === null) return { text: `[${name}: ${said}, not base64: ${line(data.slice(0, 60))}]` };
  const found = imageIn(bytes);
  const what = `${name}: ${said}, ${bytes.length} bytes`;
  if ('mediaType' in found) return { text: `[${what}]`, image: { mediaType: found.mediaType, data: bytes.toString('base64') } };
  return { text: kind === 'image' ? `[${what}; ${found.why}]` : `[${what}]` };
}

function bytesOf(base64: string): Buffer | null {
  return /^[A-Za-z0-9+/_-]*={0,2}$/u.test(base64) ? Buffer.from(base64, 'base64') : null;
}

function line(text: unknown): string {
  return typeof text === 'string' ? printableLine(text, 500) : '';
}

/** As it may be shown, and cut. */
function shownText(text: string): string {
  const shown = printable(text);
  return shown.length > LONGEST_TEXT
    ? `${shown.slice(0, LONGEST_TEXT)}… [${shown.length - LONGEST_TEXT} characters more; ask the tool for less]`
    : shown;
}

const DEEPEST = 20;

/**
 * The first place where a value is not of the type, or lacks a name, that a schema says; null: none was found. No more of the schema is
 * used: its patterns are a stranger's, and would run in this process.
 */
export function mismatch(value: unknown, schema: unknown, at: string, depth = 0): string | null {
  if (!isPlainMap(schema) || depth > DEEPEST) return null;
  const { type, required, properties, items } = schema;
  if (typeof type === 'string' && !isOfType(value, type)) return `${at} is no ${printableLine(type, 20)}`;
  if (Array.isArray(value)) {
    for (const [index, each] of value.slice(0, 100).entries()) {
      const problem = mismatch(each, items, `${at}[${index}]`, depth + 1);
      if (problem !== null) return problem;
    }
    return null;
  }
  if (!isPlainMap(value)) return null;
  const missing = Array.isArray(required) ? required.find((name) => typeof name === 'string' && !Object.hasOwn(value, name)) : undefined;
  if (missing !== undefined) return `${at} lacks '${printableLine(String(missing), 60)}'`;
  for (const [name, below] of isPlainMap(properties) ? Object.entries(properties).slice(0, 200) : []) {
    const problem = Object.hasOwn(value, name) ? mismatch(value[name], below, `'${printableLine(name, 60)}'`, depth + 1) : null;
    if (problem !== null) return problem;
  }
  return null;
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'object':
      return isPlainMap(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      return true; // no type of JSON Schema: nothing to hold it against
  }
}
