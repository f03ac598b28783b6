import path from 'node:path';
import { messageOf, type TurnRequest } from 'pith';
import { imageIn, imageTypeOf, MOST_IMAGE_BYTES } from '@pith/image-header';
import { decodeText, isSecretFile, Jail, readRange } from '@pith/safe-files';
import { listFiles } from '@pith/project-files';

type Attachments = NonNullable<TurnRequest['attachments']>;

export interface MentionedFiles {
  readonly attachments: Attachments;
  /** One line for each that is attached or could not be. */
  readonly lines: readonly { readonly ok: boolean; readonly text: string }[];
}

const MOST_TEXT = 256 * 1024;
const MOST_FILES = 20;
/** Where a person means an image, nothing else is sent instead. */
const IMAGE_NAME = /\.(?:png|jpe?g|gif|webp|hei[cf]|avif|bmp|tiff?)$/iu;
/** `@path` or `@"path with spaces"`, where a word begins. */
const MENTION = /(?<=^|[\s([{'"])@(?:"([^"\n]+)"|([^\s"]+))/gu;

/** The part of a mention right before the cursor; null where there is none. */
export function mentionBefore(text: string, cursor: number): { readonly from: number; readonly part: string } | null {
  const found = /(?:^|[\s([{'"])@("?)([^\s"]*|(?<=@")[^"\n]*)$/u.exec(text.slice(0, cursor));
  if (found === null) return null;
  const [, quote = '', part = ''] = found;
  return { from: cursor - part.length - quote.length - 1, part };
}

/** As it is written in a message. */
export function mention(file: string): string {
  return /\s/u.test(file) ? `@"${file}"` : `@${file}`;
}

/** Reads each file of `folder` that a message names with `@`. Words that name no path stay words. */
export async function mentionedFiles(text: string, folder: string): Promise<MentionedFiles> {
  const names = [...new Set([...text.matchAll(MENTION)].map(([, quoted, plain]) => quoted ?? plain ?? ''))];
  if (names.length === 0) return { attachments: [], lines: [] };
  const jail = new Jail(folder);
  const found: { attachment: Attachments[number] | null; line: { ok: boolean; text: string } }[] = [];
  for (const name of names) {
    const each = await attach(jail, name);
    if (each !== null) found.push(found.length < MOST_FILES ? each : refused(name, `at most ${MOST_FILES} files go with a message`));
  }
  return { attachments: found.flatMap(({ attachment }) => attachment ?? []), lines: found.map(({ line }) => line) };
}

/** null: it is a word and names no file. A sign at the end of a sentence is not part of the name. */
async function attach(jail: Jail, written: string) {
  const bare = written.replace(/[.,;:!?)\]}'"]+$/u, '');
  for (const name of new Set([written, bare])) {
    try {
      const names = jail.namesOf(path.normalize(name));
      const found = (await jail.stat(names))?.type;
      if (found === 'directory') return refused(name, 'it is a folder; name a file in it');
      if (found !== 'file') continue;
      return isSecretFile(names) ? refused(name, 'it may contain secrets') : await read(jail, names);
    } catch (error) {
      return refused(name, path.isAbsolute(name) || path.normalize(name).startsWith('..') ? 'it is outside this folder' : messageOf(error));
    }
  }
  return /\/|.\.[A-Za-z0-9]{1,8}$/u.test(bare) ? refused(bare, 'there is no such file') : null;
}

async function read(jail: Jail, names: readonly string[]) {
  const name = names.join('/');
  return jail.read(names, async (handle, size) => {
    const head = await readRange(handle, 0, Math.min(size, MOST_TEXT));
    if (imageTypeOf(head) !== null) {
      if (size > MOST_IMAGE_BYTES)
        return refused(name, `it has ${kilobytes(size)}, and an image has at most ${kilobytes(MOST_IMAGE_BYTES)}`);
      const whole = Buffer.concat([head, await readRange(handle, head.length, size - head.length)]);
      const image = imageIn(whole);
      if ('why' in image) return refused(name, image.why);
      return given({ name, image: { mediaType: image.mediaType, data: whole.toString('base64') } }, size);
    }
    const text = decodeText(head, size > MOST_TEXT);
    const found = imageIn(head);
    if ('why' in found && IMAGE_NAME.test(name)) return refused(name, found.why);
    if (text === null) return refused(name, 'it is neither text nor an image');
    if (size <= MOST_TEXT) return given({ name, text }, size);
    return given(
      { name, text: `${text}\n[The rest is left out: the file has ${size} bytes.]` },
      size,
      `, of which the first ${kilobytes(MOST_TEXT)} are sent`,
    );
  });
}

function given(attachment: Attachments[number], size: number, more = '') {
  return { attachment, line: { ok: true, text: `${attachment.name} attached (${kilobytes(size)})${more}` } };
}

function refused(name: string, why: string) {
  return { attachment: null, line: { ok: false, text: `${name} is not attached: ${why}` } };
}

function kilobytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

const MOST_LISTED = 300_000;
const MOST_WALKED = 20_000;
/** How long a list is used. */
const FRESH_MS = 5_000;

/** Files at and below a folder that a person may mean, and never one that may contain secrets. */
export class ProjectPaths {
  #list: { readonly at: number; readonly paths: Promise<readonly string[]> } | null = null;

  /** `useGit`: false where the person does not trust the folder. */
  constructor(
    private readonly folder: string,
    private readonly useGit: boolean,
    private readonly clock: { now(): number },
  ) {}

  /** Names from the folder down, joined by `/`; sorted. */
  list(signal: AbortSignal): Promise<readonly string[]> {
    const now = this.clock.now();
    if (this.#list !== null && now - this.#list.at <= FRESH_MS) return this.#list.paths;
    const paths = this.#read(signal);
    this.#list = { at: now, paths };
    paths.catch(() => {
      if (this.#list?.paths === paths) this.#list = null; // the next one who asks tries again
    });
    return paths;
  }

  async #read(signal: AbortSignal): Promise<readonly string[]> {
    const wanted = { most: MOST_LISTED, mostWalked: MOST_WALKED, useGit: this.useGit };
    const { paths } = await listFiles(new Jail(this.folder), wanted, signal);
    return paths.filter((file) => !isSecretFile(file.split('/')));
  }
}
