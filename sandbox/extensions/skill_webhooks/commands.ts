import { randomBytes } from 'node:crypto';
import { actingUser } from '@pith/command-line';
import { PithError, type Command, type CommandIO, type Remote } from 'pith';
import type { SavedSkills, WebhookChange } from 'pith/saved_skills';
import { printableLine } from '@pith/plain-text';
import { endsOf } from '@pith/address-ranges';
import { namedAddresses } from './allow-list.ts';
import { PREFIX } from './requests.ts';
import type { ResultKeys } from './tables.ts';
import { newSigningKey } from './signature.ts';

const SKILL = { name: 'skill', description: 'Its name, or owner/name', required: true };

export interface WebhookCommandPorts {
  readonly skills: () => Remote<SavedSkills>;
  readonly keys: Pick<ResultKeys, 'renew'>;
  /** The prefix of printed addresses. */
  readonly url: string;
}

/** `pith saved webhook …` */
export function webhookCommands({ skills, keys, url }: WebhookCommandPorts): readonly Command[] {
  const changed = async (reference: string, change: WebhookChange, io: CommandIO) => {
    const webhook = await skills().changeWebhook(reference, actingUser(io), change);
    const address = webhook.secret === null ? null : `${url}${PREFIX}/${webhook.secret}`;
    return { ...webhook, address };
  };
  const said = (io: CommandIO, found: Awaited<ReturnType<typeof changed>>, lines: readonly string[], more: object = {}) => {
    const { skill, address, signatureRequired, ipAllowlist, legacySignature } = found;
    io.json({
      skill,
      address,
      signature_required: signatureRequired,
      ip_allowlist: ipAllowlist,
      legacy_signature: legacySignature,
      ...more,
    });
    io.print([...lines, ...(address === null ? [] : [`POST ${address}`])].join('\n'));
  };
  const open = (path: string, description: string, isOpen: boolean): Command => ({
    path,
    description,
    arguments: [SKILL],
    async run({ arguments: { skill } }, io) {
      const before = await changed(String(skill), {}, io);
      if ((before.address !== null) !== isOpen)
        throw new PithError('usage', `${before.skill} has ${isOpen ? 'no' : 'a'} webhook`, {
          cure: isOpen
            ? `enable it: pith saved webhook enable ${before.skill}`
            : `for another address and key: pith saved webhook regenerate ${before.skill}`,
        });
      const signingKey = newSigningKey(randomBytes(32));
      const found = await changed(String(skill), { secret: randomBytes(32).toString('hex'), signingKey }, io);
      said(
        io,
        found,
        [`A signed request to this address runs ${found.skill}, while \`pith serve\` runs`, `Signing key, shown only now: ${signingKey}`],
        { signing_key: signingKey },
      );
    },
  });
  return [
    open('saved webhook enable', 'Let other systems run a saved skill by a request', false),
    open('saved webhook regenerate', 'Replace the address and the signing key of a webhook; the old ones stop working at once', true),
    {
      path: 'saved webhook disable',
      description: 'Remove the webhook of a saved skill',
      arguments: [SKILL],
      async run({ arguments: { skill } }, io) {
        const found = await changed(String(skill), { secret: null, signingKey: null }, io);
        said(io, found, [`${found.skill} has no webhook`]);
      },
    },
    {
      path: 'saved webhook require-signature',
      description: 'Set whether requests must be signed',
      arguments: [SKILL, { name: 'state', description: 'on (default), off, or for administrators: forced, free' }],
      options: [{ name: 'older', type: 'string', description: 'on: the older form of signatures is accepted, too; off (default)' }],
      async run({ arguments: { skill, state = 'on' }, options: { older } }, io) {
        const change = CHANGES.get(String(state));
        if (change === undefined)
          throw new PithError('usage', `'${String(state)}' is not on, off, forced or free`, { cure: 'write one of these' });
        if (older !== undefined && older !== 'on' && older !== 'off')
          throw new PithError('usage', `--older is '${String(older)}', which is neither on nor off`, {
            cure: 'write --older on or --older off',
          });
        const legacy = older === undefined ? {} : { legacySignature: older === 'on' };
        const found = await changed(String(skill), { ...change, ...legacy }, io);
        said(io, found, [`Requests to ${found.skill} ${found.signatureRequired ? 'must be signed' : 'need no signature'}`]);
      },
    },
    {
      path: 'saved webhook allow',
      description: 'Set the addresses from which requests may come',
      arguments: [SKILL, { name: 'range', description: 'Addresses and CIDR ranges; none: from anywhere', variadic: true }],
      options: [{ name: 'check', type: 'boolean', description: 'Only show what they admit, and save nothing' }],
      async run({ arguments: { skill, range = [] }, options: { check } }, io) {
        const named = [range].flat().map(String);
        const { ranges, wrong } = namedAddresses(named);
        if (named.some((each) => each.trim() === ''))
          throw new PithError('allow_list_invalid', 'an address is empty', { cure: 'name it, or no address at all to admit every one' });
        if (wrong.length > 0)
          throw new PithError(
            'allow_list_invalid',
            `neither an address nor a range: ${wrong.map((text) => printableLine(text)).join(', ')}`,
            {
              cure: 'write such as 192.0.2.7 or 192.0.2.0/24',
            },
          );
        if (check === true) {
          await skills().idOf(String(skill), actingUser(io));
          const admitted = ranges.map((each) => ({ range: each, ...(endsOf(each) ?? { first: each, last: each }) }));
          io.json({ admits: admitted.length === 0 ? 'all' : admitted });
          const lines = admitted.map(({ range: each, first, last }) => (first === last ? each : `${each}: from ${first} to ${last}`));
          return io.print(lines.length === 0 ? 'Any address' : lines.join('\n'));
        }
        const found = await changed(String(skill), { ipAllowlist: ranges.join('\n') }, io);
        said(io, found, [
          ranges.length === 0
            ? `Requests to ${found.skill} may come from anywhere`
            : `Requests to ${found.skill} may come from ${ranges.join(', ')}`,
        ]);
      },
    },
    {
      path: 'saved webhook result-key',
      description: 'Make a new key that signs results of a saved skill; the old one is no longer used',
      arguments: [SKILL],
      async run({ arguments: { skill } }, io) {
        const signingKey = await keys.renew(await skills().idOf(String(skill), actingUser(io)));
        io.json({ skill: String(skill), signing_key: signingKey });
        io.print(`Results of ${String(skill)} are signed with this key, shown only now: ${signingKey}`);
      },
    },
  ];
}

const CHANGES: ReadonlyMap<string, WebhookChange> = new Map([
  ['on', { signatureRequired: true }],
  ['off', { signatureRequired: false }],
  ['forced', { signatureForced: true }],
  ['free', { signatureForced: false }],
]);
