import { codeOf, type CommandIO, type ExtensionContext, ExtensionSettings, messageOf, ModelProvider, PithError, SetupProvider } from 'pith';
import { didYouMean, printableLine } from '@pith/plain-text';

type Server = Awaited<ReturnType<NonNullable<SetupProvider['getModelServers']>>>[number];

/** A server that a person can choose, with the extension for it. */
interface Offer {
  readonly extensionId: string;
  readonly server: Server;
  /** A person has just typed its address. */
  readonly isNew: boolean;
  readonly ask: (asked: Parameters<NonNullable<SetupProvider['askModels']>>[0]) => Promise<readonly string[]>;
  /** Where a server listens already; null: nowhere. */
  readonly foundAt: string | null;
}

const MOST_SHOWN = 20;
const MOST_KEYS = 3;

/**
 * Connects a model: server, address, key, name. Asks only what is unknown; writes when all is known. Exit code 1 when the person leaves.
 */
export async function connectModel(context: ExtensionContext, io: CommandIO, signal: AbortSignal): Promise<number> {
  const offers = await offersOf(context, signal);
  if (offers.length === 0)
    throw new PithError('provider_unavailable', 'nothing here can be connected to a model', { cure: 'see: pith doctor' });
  io.print('Which model should answer? Press Enter to leave without a change.');
  for (const [place, { server, foundAt }] of offers.entries())
    io.print(`  ${place + 1}  ${server.title}${foundAt === null ? '' : ` (found on ${foundAt})`}`);
  const connected = await connect(offers, io);
  if (connected === null) return left(io);
  const { offer, key, models } = connected;
  const { prefix, isDefault, address } = offer.server;
  if (models.length === 0) {
    io.error(`pith: ${nameOf(offer)} has no model yet; install one there, then run this again`);
    return 1;
  }
  const model = await chooseModel(io, models);
  if (model === null) return left(io);
  const former = isDefault && offers.find(({ server }) => server.prefix === prefix && server.address !== undefined)?.server.address;
  if (former !== undefined) {
    const question = `Models of '${prefix}' are asked at ${former} now. Take that address out of the settings?`;
    if ((await io.ask(question, { choices: ['yes', 'no'] })) !== 'yes') return left(io);
  }

  const settings = context.use(ExtensionSettings);
  const ref = `${prefix}/${model}`;
  const secret = offer.server.secret ?? (key ? keyNameOf(prefix) : null);
  const place = isDefault // the key belongs to the address where it was tried: no other may stay set
    ? { [`providers.${prefix}.base_url`]: null, [`extensions.${offer.extensionId}.base_url`]: null }
    : offer.isNew && { [`providers.${prefix}.base_url`]: address ?? null };
  const named = secret !== offer.server.secret && { [`providers.${prefix}.api_key_env`]: secret };
  const file = await settings.write(offer.extensionId, { ...place, ...named, 'models.default': ref }, 'person');
  const use = address === undefined || isDefault ? undefined : { part: prefix, to: address };
  if (key !== null && secret !== null) await settings.keepSecret(offer.extensionId, secret, key, use);
  io.json({ ok: true, id: offer.extensionId, model: ref });
  io.print(`Connected: ${ref} answers from now on, where nothing else is chosen (models.default in ${file})`);
  return 0;
}

/** Asks for a server until one answers; null when the person leaves. */
async function connect(offers: readonly Offer[], io: CommandIO) {
  const typed = new Map<string, string>();
  for (;;) {
    const offer = await chooseOffer(offers, io);
    if (offer === null) return null;
    try {
      const answered = await askKey(offer, io, typed);
      return answered === null ? null : { offer, ...answered };
    } catch (error) {
      if (codeOf(error, '') !== 'model_unreachable') throw error;
      const { isLocal, address } = offer.server;
      const isHere = isLocal || (address !== undefined && LOCAL.test(new URL(address).hostname));
      const why = printableLine(messageOf(error));
      const advice =
        offer.isNew && !why.startsWith('nothing answers')
          ? 'Check its address, which usually ends in /v1'
          : isHere
            ? 'Start the server'
            : 'Check the network and the proxy';
      const what = why.replace(/^./u, (letter) => letter.toUpperCase());
      io.print(`${what}. ${advice}, or choose another, by its number or address:`);
    }
  }
}

/** A number, a name, or the address of another server; null when the person leaves. */
async function chooseOffer(offers: readonly Offer[], io: CommandIO): Promise<Offer | null> {
  const other = offers.find(({ server }) => server.asksAddress);
  const words = offers.map(({ server }) => server.prefix);
  const chosen = await choose(io, 'Provider', words, (answer) => (other === undefined ? null : addressIn(answer)));
  if (chosen === null) return null;
  const found = typeof chosen === 'number' ? offers[chosen] : other;
  if (found === undefined || !found.server.asksAddress) return found ?? null;
  const address = typeof chosen === 'string' ? chosen : await askAddress(io);
  if (address === null) return null;
  const known = offers.find(({ server }) => server.address !== undefined && sameAddress(server.address, address));
  return known ?? { ...found, isNew: true, server: { ...found.server, prefix: prefixFor(address, words), address } };
}

function sameAddress(one: string, other: string): boolean {
  const plain = (address: string) => new URL(address).href.replace(/\/+$/u, '');
  return plain(one) === plain(other);
}

/** The name of a server that a person added, from its address: `local-1234`, `models-example-com`. */
function prefixFor(address: string, taken: readonly string[]): string {
  const { hostname, port } = new URL(address);
  const host = LOCAL.test(hostname) ? 'local' : hostname.replaceAll(/[^a-z0-9]+/gu, '-').replaceAll(/^-|-$/gu, '');
  const name = [/^[a-z]/u.test(host) ? host : `server-${host}`, ...(port === '' ? [] : [port])].join('-');
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? name : `${name}-${number}`;
    if (!taken.includes(free)) return free;
  }
}

/** The variable for the key of a server that a person added. */
function keyNameOf(prefix: string): string {
  return `${prefix.toUpperCase().replaceAll('-', '_')}_API_KEY`;
}

const LOCAL = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/u;

/** The server's title such as `OpenAI`, or the address where a person gave one. */
function nameOf({ server: { title, address } }: Offer): string {
  return address === undefined ? title : new URL(address).host;
}

function left(io: CommandIO): number {
  io.print('Nothing was changed');
  return 1;
}

/** Running servers first, then in the order of their extensions. */
async function offersOf(context: ExtensionContext, signal: AbortSignal): Promise<readonly Offer[]> {
  const models = context.find(ModelProvider);
  const lists = await Promise.all(
    context.find(SetupProvider).map(async (provider): Promise<readonly Offer[]> => {
      const { extensionId } = provider;
      const servers = await serversOf(provider);
      const local = models.find((each) => each.extensionId === extensionId);
      return Promise.all(
        servers.map(async (server) => ({
          extensionId,
          server,
          isNew: false,
          ask: async (asked) => (await provider.askModels?.(asked, signal)) ?? [],
          foundAt: server.isLocal ? ((await local?.findLocal?.(server.prefix, signal).catch(() => null)) ?? null) : null, // then it does not run
        })),
      );
    }),
  );
  const all = lists.flat();
  return [...all.filter(({ foundAt }) => foundAt !== null), ...all.filter(({ foundAt }) => foundAt === null)];
}

/** Empty where the extension sets up something else, or fails, which `pith doctor` reports. */
async function serversOf(provider: Pick<SetupProvider, 'getModelServers'>): Promise<readonly Server[]> {
  try {
    return (await provider.getModelServers?.()) ?? [];
  } catch {
    return []; // a missing optional member rejects, too
  }
}

async function askAddress(io: CommandIO): Promise<string | null> {
  for (;;) {
    const text = (await io.ask('Its address, such as http://127.0.0.1:1234/v1:'))?.trim() ?? '';
    if (text === '') return null;
    const address = addressIn(text);
    if (address !== null) return address;
    io.print(`'${printableLine(text, 80)}' is not a URL: begin it with http:// or https://`);
  }
}

function addressIn(text: string): string | null {
  return URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol) ? text : null;
}

/**
 * Asks the server for its models, and the person for a key only where the server needs one: a key is tried at once, and kept in `typed`
 * while the server cannot be reached. `key` null: the server takes what it has now; empty: it needs none, though another address has one.
 */
async function askKey(
  offer: Offer,
  io: CommandIO,
  typed: Map<string, string>,
): Promise<{ readonly key: string | null; readonly models: readonly string[] } | null> {
  const { isNew } = offer;
  const { prefix, isDefault, address = '', secret } = offer.server;
  const place = isNew ? new URL(address).origin : prefix;
  let key = typed.get(place) ?? null;
  for (let asked = 0; ;) {
    try {
      return { key, models: await offer.ask({ prefix, address: isNew ? address : isDefault ? '' : null, key }) };
    } catch (error) {
      const code = codeOf(error, '');
      if (code === 'secret_not_given' && key === null) {
        key = '';
        continue;
      }
      const wantsKey = code === 'model_auth' && (secret !== null || address !== '') && asked < MOST_KEYS;
      if (!wantsKey) throw error;
      typed.delete(place);
      if (asked > 0) io.print(printableLine(messageOf(error)));
      key = (await io.ask(`Key for ${nameOf(offer)} (not shown):`, { secret: true }))?.trim() || null;
      if (key === null) return null;
      typed.set(place, key);
      asked += 1;
    }
  }
}

async function chooseModel(io: CommandIO, models: readonly string[]): Promise<string | null> {
  for (const [place, name] of models.slice(0, MOST_SHOWN).entries()) io.print(`  ${place + 1}  ${printableLine(name)}`);
  if (models.length > MOST_SHOWN) io.print(`  and ${models.length - MOST_SHOWN} more: type a name`);
  const chosen = await choose(io, 'Model', models);
  return typeof chosen === 'number' ? (models[chosen] ?? null) : chosen;
}

/** Asks until a number or name matches, or `other` takes the answer; a place in `words`, or what `other` made of it. null: nothing was typed. */
async function choose(
  io: CommandIO,
  what: string,
  words: readonly string[],
  other: (answer: string) => string | null = () => null,
): Promise<number | string | null> {
  for (;;) {
    const answer = (await io.ask(`${what} [${words.length === 1 ? '1' : `1-${words.length}`}]:`))?.trim() ?? '';
    if (answer === '') return null;
    const number = /^\d+$/u.test(answer) ? Number(answer) - 1 : -1;
    const place = words[number] === undefined ? words.indexOf(answer) : number;
    if (place >= 0) return place;
    const taken = other(answer);
    if (taken !== null) return taken;
    const range = words.length === 1 ? 'Type 1' : `Type a number from 1 to ${words.length}`;
    io.print(`No '${printableLine(answer, 80)}' here${didYouMean(answer, new Set(words))}. ${range}, or a name.`);
  }
}
