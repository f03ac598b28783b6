import { sha256 } from '@pith/plain-data';
import type { Message } from '../../contract/index.ts';

type UserPart = Extract<Message, { role: 'user' }>['content'][number];
type ToolPart = Extract<Message, { role: 'tool' }>['content'][number];

/** An image in a message of the user or in a result of a tool; `data` of what is no bytes is empty. */
export interface SentImage {
  readonly mediaType: string;
  readonly data: string;
  readonly providerOptions?: UserPart['providerOptions'];
}

/** The message with each image as `change` says, a text in its place included; the same object where nothing changes. */
export function mapImages<T extends Message>(message: T, change: (image: SentImage) => SentImage | string): T {
  if (message.role !== 'user' && message.role !== 'tool') return message;
  const { content } = message as Extract<Message, { role: 'user' | 'tool' }>;
  if (!(content as readonly (UserPart | ToolPart)[]).some(mayHaveImage)) return message;
  const mapped = (content as readonly (UserPart | ToolPart)[]).map((part) => mapPart(part, change));
  return mapped.every((part, at) => part === content[at]) ? message : ({ ...message, content: mapped } as unknown as T);
}

function mayHaveImage(part: UserPart | ToolPart): boolean {
  return (part.type === 'file' && part.mediaType.startsWith('image/')) || (part.type === 'tool-result' && part.output.type === 'content');
}

function mapPart(part: UserPart | ToolPart, change: (image: SentImage) => SentImage | string): UserPart | ToolPart {
  if (!mayHaveImage(part)) return part;
  if (part.type === 'file') return replaced(part, typeof part.data === 'string' ? part.data : '', change);
  if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
  const { value } = part.output;
  const mapped = value.map((each) => (each.type === 'image-data' ? replaced(each, each.data, change) : each));
  return mapped.every((each, at) => each === value[at]) ? part : { ...part, output: { ...part.output, value: mapped } };
}

function replaced<T extends Pick<SentImage, 'mediaType' | 'providerOptions'>>(
  part: T,
  data: string,
  change: (image: SentImage) => SentImage | string,
): T | { readonly type: 'text'; readonly text: string } {
  const given: SentImage = { mediaType: part.mediaType, data, ...(part.providerOptions && { providerOptions: part.providerOptions }) };
  const image = change(given);
  if (typeof image === 'string') return { type: 'text', text: image };
  return image === given ? part : { ...part, ...image };
}

export function digestOfImage({ data }: SentImage): string {
  return sha256(data);
}

/** Whether the server of this model refused it before. */
export function isRefusedBy({ providerOptions }: SentImage, ref: string): boolean {
  const refused = providerOptions?.['pith']?.['refusedBy'];
  return Array.isArray(refused) && refused.includes(ref);
}

/** The message with a mark at each image of these digests: the model `ref` is not sent them again; others may see them. */
export function withRefused<T extends Message>(message: T, digests: ReadonlySet<string>, ref: string): T {
  return mapImages(message, (image) => {
    if (!digests.has(digestOfImage(image)) || isRefusedBy(image, ref)) return image;
    const { providerOptions } = image;
    const before = providerOptions?.['pith']?.['refusedBy'];
    const refusedBy = [...(Array.isArray(before) ? before : []), ref];
    return { ...image, providerOptions: { ...providerOptions, pith: { ...providerOptions?.['pith'], refusedBy } } };
  });
}
