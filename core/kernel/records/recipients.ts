import { type ExtensionContext, PithError } from '../../contract/index.ts';
import type { Manifest } from '../../trust/index.ts';
import { printableLine } from '@pith/plain-text';

/** An extension that may ask. */
interface Asking {
  readonly id: string;
  readonly manifest: Manifest | null;
}

/** Who asks for a secret, in the words in which the file of secrets says whom one was given for. */
export interface Asker {
  /** `extension:weather`, `provider:openai https://api.openai.com`, `mcp:files npx server`. */
  readonly recipient: string;
  /** It came with Pith, and asks for what its own manifest declares, for itself or for the address that everybody has. */
  readonly usual: boolean;
}

/** Whom a secret counts for that was kept before secrets had recipients. */
export const USUAL = 'usual';

/**
 * What an extension says of its parts counts only where it came with Pith: of other code nobody knows where it sends things, and a prefix
 * can be claimed by several.
 */
export function askerOf(
  { id, manifest }: Asking,
  shipped: boolean,
  name: string,
  use?: NonNullable<Parameters<ExtensionContext['getSecret']>[1]>,
): Asker {
  const part = shipped ? use?.part : undefined;
  const offered = manifest?.models.some(({ prefix }) => prefix === part);
  const who = part === undefined ? `extension:${id}` : `${offered ? 'provider' : id}:${part}`;
  const isUsual = shipped && manifest?.secrets.includes(name) === true && (use === undefined || use.usual === true);
  return { recipient: use === undefined ? who : `${who} ${placeOf(use.to)}`, usual: isUsual };
}

/** A person may give an extension a secret without saying where it sends it; a provider or a server only with its address. */
export function isGivenFor(recipients: readonly string[], { recipient, usual }: Asker): boolean {
  if (recipients.includes(recipient) || (usual && recipients.includes(USUAL))) return true;
  const [who = ''] = recipient.split(' ', 1);
  return who.startsWith('extension:') && recipients.includes(who);
}

/** Whether this extension could be meant, whatever of it asks: what does not concern it never reaches its process. */
export function concerns(recipient: string, { id, manifest }: Asking, shipped: boolean): boolean {
  if (recipient === `extension:${id}` || recipient.startsWith(`extension:${id} `)) return true;
  if (!shipped) return false;
  const models = manifest?.models ?? [];
  return recipient === USUAL || recipient.startsWith(`${id}:`) || models.some(({ prefix }) => recipient.startsWith(`provider:${prefix} `));
}

/** As a person writes one. Throws `usage`. */
export function recipientOf(text: string): string {
  const [, who = '', to = ''] = /^([a-z][a-z0-9_]*:[a-z][a-z0-9_-]*)(?: +(\S.*))?$/su.exec(text.trim()) ?? [];
  const isWhole = who !== '' && (who.startsWith('extension:') || to !== '');
  if (isWhole) return to === '' ? who : `${who} ${placeOf(to)}`;
  throw new PithError('usage', `wrong use of --for: ${JSON.stringify(text)} is nobody to give a secret`, {
    cure: "write extension:ID, or a provider with its address: --for 'provider:openai https://api.openai.com'; see: pith secrets list",
  });
}

/** Names both sides, and the command that gives it. */
export function notGiven(name: string, recipients: readonly string[], { recipient }: Asker): PithError {
  const whom = recipients.map((one) => (one === USUAL ? 'the usual addresses of what ships with Pith' : one)).join(', ') || 'nobody';
  return new PithError('secret_not_given', `the secret '${name}' was given for ${whom}, and not for ${recipient}, which asks for it`, {
    cure: `if that is right, run: pith secrets allow ${name} --for ${quoted(recipient)}`,
  });
}

/** Of an address only its origin says who gets what is sent there; anything else is a command, and every word of it counts. */
function placeOf(to: string): string {
  return /^https?:\/\//i.test(to) && URL.canParse(to) ? new URL(to).origin : printableLine(to).trim();
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
