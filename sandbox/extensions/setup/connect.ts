import { codeOf, type CommandIO, type ExtensionContext, ExtensionSettings, messageOf, ModelProvider, PithError, SetupProvider } from 'pith';
import { didYouMean, printableLine } from '@pith/plain-text';

type Server = Awaited<ReturnType<NonNullable<SetupProvider['getModelServers']>>>[number];

/** A server that a person can choose, with the extension for it. */
interface Offer {
  readonly extensionId: string;
  readonly server: Server;
  readonly ask: (asked: { readonly address: string | null; readonly key: string | null }) => Promise<readonly string[]>;
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
  const { offer, address, key, models } = connected;
  if (models.length === 0) {
    io.error(`pith: ${nameOf(offer.server, address)} has no model yet; install one there, then run this again`);
    return 1;
  }
  const model = await chooseModel(io, models);
  if (model === null) return left(io);

  const settings = context.use(ExtensionSettings);
  const { prefix, secret } = offer.server;
  const ref = `${prefix}/${model}`;
  const place =
    address === '' // the key belongs to the address where it was tried: no other may stay set
      ? { [`providers.${prefix}.base_url`]: null, [`extensions.${offer.extensionId}.base_url`]: null }
      : address !== null && { [`providers.${prefix}.base_url`]: address };
  const file = await settings.write(offer.extensionId, { ...place, 'models.default': ref }, 'person');
  if (key !== null && secret !== null) await settings.keepSecret(offer.extensionId, secret, key);
  io.json({ ok: true, id: offer.extensionId, model: ref });
  io.print(`Connected: ${ref} answers from now on (models.default in ${file})`);
  return 0;
}

/** Asks for a server until one answers; null when the person leaves. */
async function connect(offers: readonly Offer[], io: CommandIO) {
  const typed = new Map<string, string>();
  for (;;) {
    const offer = await choose(io, 'Provider', offers, ({ server }) => server.prefix);
    if (offer === null) return null;
    const address = offer.server.asksAddress ? await askAddress(io) : offer.server.isDefault ? '' : null;
    if (offer.server.asksAddress && address === null) return null;
    try {
      const answered = await askKey(offer, address, io, typed);
      return answered === null ? null : { offer, address, ...answered };
    } catch (error) {
      if (codeOf(error, '') !== 'model_unreachable') throw error;
      const isHere = offer.server.isLocal || (address !== null && address !== '' && LOCAL.test(new URL(address).hostname));
      const advice = isHere ? 'Start it' : 'Check the network and the proxy';
      io.print(`${printableLine(messageOf(error))}. ${advice}, or choose another:`);
    }
  }
}

const LOCAL = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/u;

/** The server's title such as `OpenAI`, or the address where a person gave one. */
function nameOf({ title, asksAddress }: Server, address: string | null): string {
  return asksAddress && address !== null ? new URL(address).host : title;
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
          ask: async (asked) => (await provider.askModels?.({ prefix: server.prefix, ...asked }, signal)) ?? [],
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
    if (URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol)) return text;
    io.print('That is not an address: begin it with http:// or https://');
  }
}

/**
 * Asks the server for its models, and the person for a key only where the server needs one: a key is tried at once, and kept in `typed`
 * while the server cannot be reached.
 */
async function askKey(
  { server, ask }: Offer,
  address: string | null,
  io: CommandIO,
  typed: Map<string, string>,
): Promise<{ readonly key: string | null; readonly models: readonly string[] } | null> {
  const place = `${server.prefix} ${address}`;
  let key = typed.get(place) ?? null;
  for (let asked = 0; ; asked += 1) {
    try {
      return { key, models: await ask({ address, key }) };
    } catch (error) {
      const wantsKey = ['model_auth', 'secret_not_given'].includes(codeOf(error, '')) && server.secret !== null && asked < MOST_KEYS;
      if (!wantsKey) throw error;
      typed.delete(place);
      if (asked > 0) io.print(printableLine(messageOf(error)));
      key = (await io.ask(`Key for ${nameOf(server, address)} (not shown):`, { secret: true }))?.trim() || null;
      if (key === null) return null;
      typed.set(place, key);
    }
  }
}

async function chooseModel(io: CommandIO, models: readonly string[]): Promise<string | null> {
  for (const [place, name] of models.slice(0, MOST_SHOWN).entries()) io.print(`  ${place + 1}  ${printableLine(name)}`);
  if (models.length > MOST_SHOWN) io.print(`  and ${models.length - MOST_SHOWN} more: type a name`);
  return choose(io, 'Model', models, (name) => name);
}

/** Asks for a number or name until one matches; null when the person types nothing. */
async function choose<T>(io: CommandIO, what: string, all: readonly T[], wordOf: (one: T) => string): Promise<T | null> {
  for (;;) {
    const answer = (await io.ask(`${what} [${all.length === 1 ? '1' : `1-${all.length}`}]:`))?.trim() ?? '';
    if (answer === '') return null;
    const named = all.filter((one) => wordOf(one) === answer);
    const chosen = (/^\d+$/u.test(answer) ? all[Number(answer) - 1] : undefined) ?? named[0];
    if (chosen !== undefined) return chosen;
    io.print(
      `'${printableLine(answer, 80)}' is none of them${didYouMean(answer, new Set(all.map(wordOf)))}. Type ${all.length === 1 ? '1' : `a number from 1 to ${all.length}`}, or a name.`,
    );
  }
}
