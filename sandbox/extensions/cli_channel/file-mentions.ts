import os from 'node:os';
import path from 'node:path';
import { messageOf } from 'pith';
import { imageIn, imageTypeOf, MOST_IMAGE_BYTES } from '@pith/image-header';
import { decodeText, isInside, isSecretFile, isThere, Jail, readRange, realPathOf, secretPlaces } from '@pith/safe-files';
import { sizeText } from '@pith/plain-text';
import { listFiles } from '@pith/project-files';
import type { Attachment } from './conversation.ts';
import { fileWords, type FileWord } from './file-words.ts';

/** What came of a word: it goes along; it names no file; it cannot go along; it may not, being secret; it stays a word of the message. */
type Outcome = 'attached' | 'missing' | 'refused' | 'secret' | 'word';

export interface MentionedFiles {
  readonly attachments: readonly Attachment[];
  /** One line for each that is attached or could not be. */
  readonly lines: readonly { readonly outcome: Outcome; readonly text: string }[];
}

const MOST_TEXT = 256 * 1024;
/** Of a text that was named without `@`. */
const MOST_UNASKED = 64 * 1024;
const MOST_FILES = 20;
/** Where a person means an image, nothing else is sent instead. */
const IMAGE_NAME = /\.(?:png|jpe?g|gif|webp|hei[cf]|avif|bmp|tiff?)$/iu;

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

/**
 * Reads each file that a message names: with `@`, or by a whole path, as a terminal writes a file that is dropped on it. The person has
 * agreed by naming it. Words that name no path stay words.
 */
export async function mentionedFiles(text: string, folder: string): Promise<MentionedFiles> {
  const found: Found[] = [];
  for (const word of fileWords(text)) {
    const each = await attach(word, folder);
    if (each !== null) found.push(found.length < MOST_FILES ? each : refused(word.name, `at most ${MOST_FILES} files go with a message`));
  }
  return { attachments: found.flatMap(({ attachment }) => attachment ?? []), lines: found.map(({ line }) => line) };
}

interface Found {
  readonly attachment: Attachment | null;
  readonly line: MentionedFiles['lines'][number];
}

/** null: it is a word and names no file. A sign at the end of a sentence is not part of the name. */
async function attach({ name: written, path: place, isMention }: FileWord, folder: string): Promise<Found | null> {
  const sign = /[.,;:!?)\]}'"]+$/u.exec(written)?.[0].length ?? 0;
  for (const end of new Set([0, sign])) {
    const [name, where] = [written, place].map((each) => each.slice(0, each.length - end)) as [string, string];
    const found = await readAt(name, where, folder).catch((error: unknown) => refused(name, messageOf(error)));
    if (found === null) continue;
    const isMeant = isMention || found.attachment !== null || found.line.outcome === 'secret' || IMAGE_NAME.test(name);
    return isMeant ? kept(found, isMention ? null : realPathOf(where)) : null;
  }
  const bare = written.slice(0, written.length - sign);
  return isMention && /\/|.\.[A-Za-z0-9]{1,8}$/u.test(bare) ? refused(bare, 'there is no such file', 'missing') : null;
}

/** A text that was named without `@`, at `place`, may be only what the message is about. */
function kept(found: Found, place: string | null): Found {
  const { attachment } = found;
  if (place === null || attachment === null || !('text' in attachment)) return found;
  const { name, text } = attachment;
  if (secretPlaces(os.homedir()).some((each) => isInside(place, realPathOf(each))))
    return refused(name, 'programs keep secrets there; write @ before it to send it', 'secret');
  return text.length <= MOST_UNASKED
    ? found
    : refused(name, `it has more than ${sizeText(MOST_UNASKED)}; write @ before it to send it`, 'word');
}

/** null: there is nothing. */
async function readAt(name: string, where: string, folder: string): Promise<Found | null> {
  const real = realPathOf(path.resolve(folder, where));
  if (!isThere(real)) return null;
  const root = realPathOf(folder);
  const isOurs = isInside(real, root);
  const jail = new Jail(isOurs ? root : path.dirname(real));
  const names = jail.namesOf(path.relative(jail.root, real));
  const type = (await jail.stat(names))?.type;
  if (type === 'directory') return refused(name, 'it is a folder; name a file in it');
  if (type !== 'file') return refused(name, 'it is not an ordinary file, or one with a second name');
  if (isSecretFile(isOurs ? names : real.split(path.sep).filter((part) => part !== '')))
    return refused(name, 'it may contain secrets', 'secret');
  return read(jail, names, isOurs ? names.join('/') : name);
}

async function read(jail: Jail, names: readonly string[], name: string): Promise<Found> {
  return jail.read(names, async (handle, size) => {
    const head = await readRange(handle, 0, Math.min(size, MOST_TEXT));
    if (imageTypeOf(head) !== null) {
      if (size > MOST_IMAGE_BYTES) return refused(name, `it has ${sizeText(size)}, and an image has at most ${sizeText(MOST_IMAGE_BYTES)}`);
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
      `, of which the first ${sizeText(MOST_TEXT)} are sent`,
    );
  });
}

function given(attachment: Attachment, size: number, more = ''): Found {
  return { attachment, line: { outcome: 'attached', text: `${attachment.name} attached (${sizeText(size)})${more}` } };
}

function refused(name: string, why: string, outcome: Outcome = 'refused'): Found {
  return { attachment: null, line: { outcome, text: `${name} is not attached: ${why}` } };
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
