import { randomBytes } from 'node:crypto';
import { guardedFetch, isListening } from '@pith/guarded-fetch';
import { sha256 } from '@pith/plain-data';
import { hiddenFolders } from '@pith/plain-text';
import { type ExtensionContext, Places, PithError } from 'pith';
import type { Config } from './config.ts';
import { RouteProvider } from './contract.ts';
import { MinuteLimit } from './limits.ts';
import { Listener } from './listener.ts';

export { portTaken } from './listener.ts';
import { ownRoutes } from './own-routes.ts';
import { Requests } from './requests.ts';
import { RouteTable } from './routing.ts';
import { isLoopback } from './safety.ts';
import type { Tokens } from './tokens.ts';

const FAILURES_PER_MINUTE = 10;
const ASK_MS = 2000;
/** Before the instance of each server that listens now, or that ended without a word. */
const LISTENING = 'listening/';

type Context = Pick<ExtensionContext<Config>, 'id' | 'config' | 'clock' | 'logger' | 'events' | 'kv' | 'use' | 'find'>;

/** Listens until `signal` aborts, and publishes `service.refused` where it cannot. Rejects `token_needed` where other machines would reach it and nobody has a token. */
export async function runServer(context: Context, tokens: Tokens, signal: AbortSignal): Promise<void> {
  try {
    await listen(context, tokens, signal);
  } catch (error) {
    context.events.publish('service.refused', { extensionId: context.id });
    throw error;
  }
}

async function listen(context: Context, tokens: Tokens, signal: AbortSignal): Promise<void> {
  const { clock, logger, events, kv, id: extensionId } = context;
  const places = context.use(Places);
  const { sandbox, serve } = places;
  const host = serve?.host ?? context.config.host;
  const config = { ...context.config, host };
  if (!isLoopback(host) && !(await tokens.list()).some(({ kind }) => kind === 'token'))
    throw new PithError('token_needed', `other machines reach ${host}, and nobody has a token yet`, {
      cure: 'make one first: pith tokens new --user NAME; or listen on 127.0.0.1',
    });
  const limits = {
    perUser: new MinuteLimit(config.requests_per_user, clock),
    perAddress: new MinuteLimit(config.requests_per_address, clock),
    failures: new MinuteLimit(FAILURES_PER_MINUTE, clock),
  };
  // Cookies of one host go to all its ports, so those of two servers need two names.
  const cookieName = `pith_${sha256(sandbox).slice(0, 12)}`;
  const instance = randomBytes(16).toString('hex');
  const own = ownRoutes({ tokens, failures: limits.failures, cookieName, clock, instance });
  const routes = new RouteTable(own, () => context.find(RouteProvider), logger);
  const requests = new Requests({ config, clock, logger, routes, tokens, limits, cookieName, hide: hiddenFolders(places) });
  const listener = new Listener({
    config,
    port: serve?.port ?? config.port,
    requests,
    valid: () => tokens.usable(),
    clock,
    logger,
    async listening(port) {
      const address = addressOf(host, port);
      await kv.set(LISTENING + instance, address);
      const where = `Listening on http://${bracketed(host)}:${port}${isLoopback(host) ? '' : ', which other machines reach, unencrypted'}`;
      const hasPage = (await routes.current()).has('GET', '/');
      const how = hasPage ? `open ${address}/#code=${await tokens.makeCode()}` : 'to call it, make a token: pith tokens new';
      events.publish('service.ready', { extensionId, text: `${where}; ${how}` });
    },
  });
  events.handle('provider.changed', ({ protocol }) => (protocol === RouteProvider.id ? routes.forget() : undefined));
  for (const topic of ['extension.activated', 'extension.reloaded', 'extension.stopped'] as const)
    events.handle(topic, ({ extensionId }) => {
      routes.forget();
      if (topic !== 'extension.activated') listener.cut(extensionId);
    });
  try {
    await listener.run(signal);
  } finally {
    await kv.delete(LISTENING + instance);
  }
}

/** The address of a server that listens now for this sandbox, whichever process it is; null: none does. `wanted`: at this port; 0: at any. */
export async function listeningAddress({ kv }: Pick<Context, 'kv'>, wanted = 0): Promise<string | null> {
  for (const key of await kv.keys(LISTENING)) {
    const address = await kv.get(key);
    if (wanted !== 0 && typeof address === 'string' && new URL(address).port !== String(wanted)) continue;
    if (typeof address === 'string' && (await isInstance(address, key.slice(LISTENING.length)))) return address;
    await kv.delete(key);
  }
  return null;
}

async function isInstance(address: string, instance: string): Promise<boolean> {
  const ask = guardedFetch({ allow: [address], elsewhere: 'refused', timeoutMs: ASK_MS });
  try {
    const { headers } = await ask(`${address}/health`, { redirect: 'manual' });
    return headers.get('x-pith-instance') === instance;
  } catch {
    return false; // nothing answers there
  }
}

/** Whether something listens there. */
export async function isPortTaken({ host, port }: Pick<Config, 'host' | 'port'>): Promise<boolean> {
  return port !== 0 && isListening(addressOf(host, port)); // 0: any free one
}

/** How a browser on this machine reaches it. */
function addressOf(host: string, port: number): string {
  const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${bracketed(own)}:${port}`;
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
