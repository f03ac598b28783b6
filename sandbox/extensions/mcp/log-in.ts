import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OAuthClientMetadata } from '@modelcontextprotocol/client';
import { untilAborted, within } from '@pith/promises';
import { printableLine } from '@pith/plain-text';
import { type Clock, messageOf, PithError } from 'pith';
import type { ServerConfig } from './config.ts';
import { type KeptLogin, loginFetch } from './logins.ts';
import { unreachable } from './server-fetch.ts';

const WAIT_MS = 300_000;

export type RemoteServer = Extract<ServerConfig, { readonly url: string }>;

/**
 * Has a person log in to a server in their browser (OAuth 2.1: authorization code with PKCE, to a port of this machine). `show` gets the
 * address that they open. Rejects with the reason, and what to do about it.
 */
export async function logIn(
  { url, oauth }: RemoteServer,
  { clock, show }: { readonly clock: Clock; show(address: string): void },
  signal: AbortSignal,
): Promise<KeptLogin> {
  const sdk = await import('@modelcontextprotocol/client');
  const fetchFn = loginFetch(url);
  const challenge = await challengeOf(url, signal);
  const {
    authorizationServerUrl,
    authorizationServerMetadata: metadata,
    resourceMetadata,
  } = await sdk
    .discoverOAuthServerInfo(url, { fetchFn, resourceMetadataUrl: challenge.resourceMetadataUrl })
    .catch((error: unknown) =>
      challenge.isAsked ? failed('the server does not say who logs people in', error) : failed(NOT_ASKED, undefined, NOT_ASKED_CURE),
    );
  if (!challenge.isAsked && resourceMetadata === undefined) failed(NOT_ASKED, undefined, NOT_ASKED_CURE);
  const requestedResource = sdk.resourceUrlFromServerUrl(url);
  if (resourceMetadata && !sdk.checkResourceAllowed({ requestedResource, configuredResource: resourceMetadata.resource }))
    throw failed(`the server says that its logins are for ${printableLine(resourceMetadata.resource, 200)}`);
  const resource = resourceMetadata === undefined ? undefined : new URL(resourceMetadata.resource);
  const state = randomBytes(24).toString('base64url');
  const callback = await callbackServer(state, oauth.port ?? 0);
  try {
    const { port } = callback.server.address() as AddressInfo;
    const redirectUrl = `http://127.0.0.1:${port}/callback`;
    const scope = scopeOf(oauth.scope ?? challenge.scope ?? resourceMetadata?.scopes_supported?.join(' '), metadata?.scopes_supported);
    // A registration is for one address of return: each login makes its own.
    const client =
      oauth.client_id === undefined
        ? await sdk
            .registerClient(authorizationServerUrl, { metadata, clientMetadata: application(redirectUrl), scope, fetchFn })
            .catch((error: unknown) => failed('Pith cannot be registered as an application there', error, REGISTER_CURE))
        : { client_id: oauth.client_id };
    const { authorizationUrl, codeVerifier } = await sdk.startAuthorization(authorizationServerUrl, {
      metadata,
      clientInformation: client,
      redirectUrl,
      scope,
      state,
      ...(resource && { resource }),
    });
    if (!['https:', 'http:'].includes(authorizationUrl.protocol))
      throw failed(`its log-in page is not a web address: ${authorizationUrl.protocol}`);
    show(printableLine(authorizationUrl.href));
    const answer = await within(clock, WAIT_MS, untilAborted(callback.answer, signal), () => {
      throw failed(
        `nobody logged in within ${WAIT_MS / 60_000} minutes`,
        undefined,
        'run the command again, and open the address that it prints',
      );
    });
    const error = answer.get('error');
    if (error !== null) throw failed(`the login was refused: ${printableLine(answer.get('error_description') ?? error, 200)}`);
    const tokens = await sdk
      .exchangeAuthorization(authorizationServerUrl, {
        metadata,
        clientInformation: client,
        authorizationCode: answer.get('code') ?? '',
        iss: answer.get('iss') ?? undefined,
        codeVerifier,
        redirectUri: redirectUrl,
        ...(resource && { resource }),
        fetchFn,
      })
      .catch((reason: unknown) => failed('no token was given for the login', reason));
    return {
      url,
      issuer: String(authorizationServerUrl),
      client: { ...client },
      tokens: { ...tokens },
      ...(metadata && { metadata: { ...metadata } }),
      ...(resourceMetadata && { resource: resourceMetadata.resource }),
    };
  } finally {
    callback.server.close();
    callback.server.closeAllConnections();
  }
}

const NOT_ASKED = 'the server asks nobody to log in';
const NOT_ASKED_CURE = 'use it without a login; if it needs a key, name that in its headers';
const REGISTER_CURE = 'register an application by hand, and write its id as oauth.client_id of the server, its port as oauth.port';

function failed(what: string, error?: unknown, cure?: string): never {
  const why = error === undefined ? '' : `: ${printableLine(messageOf(error), 300)}`;
  throw new PithError('mcp_login_failed', `${what}${why}`, {
    ...(cure !== undefined && { cure }),
    ...(error !== undefined && { cause: error }),
  });
}

function application(redirectUrl: string): OAuthClientMetadata {
  return {
    client_name: 'Pith',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

/** With the right to be renewed, where the server knows it. */
function scopeOf(scope: string | undefined, supported: readonly string[] | undefined): string | undefined {
  const hasRenewal = scope === undefined || !supported?.includes('offline_access') || scope.split(' ').includes('offline_access');
  return hasRenewal ? scope : `${scope} offline_access`;
}

interface Challenge {
  readonly isAsked: boolean;
  readonly resourceMetadataUrl?: URL;
  readonly scope?: string;
}

/** What the server says to whoever comes without a login. */
async function challengeOf(url: string, signal: AbortSignal): Promise<Challenge> {
  const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client');
  const response = await loginFetch(url)(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' }),
    signal,
  }).catch((error: unknown) => failed(`the server cannot be reached: ${printableLine(unreachable(error), 300)}`));
  await response.body?.cancel();
  const isAsked = response.status === 401 || response.status === 403;
  return { isAsked, ...(isAsked && extractWWWAuthenticateParams(response)) };
}

interface Callback {
  readonly server: Server;
  /** What the browser brought back. */
  readonly answer: Promise<URLSearchParams>;
}

/** Takes one answer, and only with the state that was sent along. */
async function callbackServer(state: string, port: number): Promise<Callback> {
  let take: (answer: URLSearchParams) => void = () => undefined;
  const answer = new Promise<URLSearchParams>((resolve) => (take = resolve));
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const isOurs = pathname === '/callback' && searchParams.get('state') === state;
    response.writeHead(isOurs ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
    response.end(isOurs ? 'You can close this page and go back to Pith.\n' : 'Nothing is here.\n');
    if (isOurs) take(searchParams);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new PithError('mcp_login_failed', `the port ${port} cannot be used: ${messageOf(error)}`)));
    server.listen(port, '127.0.0.1', resolve);
  });
  return { server, answer };
}
