import { isIP } from 'node:net';
import { publicAddresses } from '@pith/guarded-fetch';
import type { TurnInfo } from 'pith';

export const LONGEST_ADDRESS = 2048;

/** What a model wrote as an address. The part after `#` is left out: servers never see it. */
export function webAddress(text: string): URL | { readonly problem: string } {
  const given = text.trim();
  if (!URL.canParse(given)) return { problem: 'this is not an address; write it as https://host/path' };
  const url = new URL(given);
  url.hash = '';
  if (!/^https?:$/.test(url.protocol)) return { problem: `${url.protocol} is not http or https` };
  if (url.username !== '' || url.password !== '') return { problem: 'the address has a user name or a password in it; leave them out' };
  return url;
}

/** Whether the host is outside of the public internet by its own words. Other names are looked up only once a person agrees. */
export async function isPlainlyPrivate({ hostname }: URL): Promise<boolean> {
  const isAddress = isIP(hostname.replace(/^\[|\]$/gu, '')) !== 0;
  if (!isAddress) return /(?:^|\.)localhost\.?$/iu.test(hostname);
  return publicAddresses(hostname).then(
    () => false,
    () => true,
  );
}

/**
 * Whether a person wrote this very address in one of their last messages. What a program or another agent wrote in a person's place does
 * not count: it may repeat what a page says.
 */
export function isTyped(url: URL, { userTexts, depth, key, policy }: TurnInfo): boolean {
  if (depth > 0 || key !== undefined || (policy?.startedBy?.length ?? 0) > 0) return false;
  return userTexts.some((text) => addressesIn(text).has(url.href));
}

function addressesIn(text: string): ReadonlySet<string> {
  const found = (text.match(/https?:\/\/[^\s<>"'`]+/gi) ?? []).filter(({ length }) => length <= LONGEST_ADDRESS);
  const spellings = found.flatMap((address) => [address, address.replace(/[.,;:!?)\]}*_]+$/, '')]);
  return new Set(
    spellings.flatMap((spelling) => {
      const url = webAddress(spelling);
      return url instanceof URL ? [url.href] : [];
    }),
  );
}
