import { describe, expect, it } from 'vitest';
import { proxyTo } from '../../fixtures/proxy-server.ts';
import { kernelOf } from '../../places.ts';
import { said, webKernel } from './web-kernel.ts';
import { pages, webServer } from './web-server.ts';

const RESULTS = JSON.stringify({ results: [{ title: 'Bees', url: 'https://a.example/', content: 'text' }] });

describe('U7 in a separate process, as it ships', () => {
  it('reads pages and searches, and is in one', async () => {
    const server = await webServer((request, response) =>
      request.url === '/page'
        ? response
            .writeHead(200, { 'content-type': 'text/html' })
            .end(`<title>Hi</title><article><p>${'some, text. '.repeat(60)}</article>`)
        : response.writeHead(200).end(RESULTS),
    );
    const settings = { private_origins: [server.origin], base_url: server.origin };
    const web = await webKernel(settings, { isolation: 'process', env: { TAVILY_API_KEY: 'tavily-key' } });
    expect(await web.tools()).toEqual(['web_fetch', 'web_search']);
    expect(await web.asks('https://a.example/')).toMatchObject({ summary: 'fetch https://a.example/', always: { key: 'host:a.example' } });
    expect(said(await web.fetch(`${server.origin}/page`))).toContain('# Hi\n\nsome, text. some');
    expect(said(await web.call('web_search', { query: 'bees' }))).toContain('1. Bees');
    expect(server.requests.at(-1)?.headers.authorization).toBe('Bearer tavily-key');
    expect(said(await web.fetch('http://127.0.0.1:1/'))).toMatch(/^address_refused/);
    const { extensions } = await web.pith.kernel.doctor();
    expect(extensions.find(({ id }) => id === 'web')).toMatchObject({ state: 'active', tier: 'process' });
  });

  it('V9 asks through the proxy that is set, and it alone says where to', async () => {
    const server = await webServer(pages({ '/page': ['text/plain', 'hello'], '/search': ['application/json', RESULTS] }));
    const proxy = await proxyTo(server.origin);
    const env = { http_proxy: `http://me:open-sesame@${proxy.address}`, TAVILY_API_KEY: 'tavily-key' };
    const settings = { private_origins: ['http://wiki.corp'], base_url: 'http://search.corp' };
    const web = await webKernel(settings, { isolation: 'process', env });
    expect(said(await web.fetch('http://wiki.corp/page'))).toContain('hello');
    expect(said(await web.call('web_search', { query: 'bees' }))).toContain('1. Bees');
    expect(proxy.asked).toEqual([
      expect.stringMatching(/^GET http:\/\/wiki\.corp\/page Basic /),
      expect.stringMatching(/^POST http:\/\/search\.corp\/search Basic /),
    ]);
    expect(said(await web.fetch('http://10.0.0.1/'))).toMatch(/^address_refused/);
    expect(said(await web.fetch('http://other.invalid/'))).toMatch(/^address_refused: .*nobody knows where the proxy/);
    expect(proxy.asked).toHaveLength(2);
  });

  it('pith setup web keeps an address and asks it', async () => {
    const server = await webServer(pages({ '/search?q=test&format=json': ['application/json', RESULTS] }));
    const pith = await kernelOf({ isolation: 'process', files: { 'pith.yaml': '' } });
    const names = async () => (await pith.kernel.host.providers.tools.of('web')).map(({ name }) => name);
    expect(await names()).toEqual(['web_fetch']);
    const done = await pith.command(['setup', 'web', '--set', `searxng_url=${server.origin}`]);
    expect(done.text).toContain(`SearXNG at ${server.host} answers`);
    expect(await names()).toEqual(['web_fetch', 'web_search']);
    await pith.command(['setup', 'web', '--set', 'searxng_url=', '--set', 'search=first']);
    expect(await names()).toEqual(['web_fetch']);
    await expect(pith.command(['setup', 'web', '--set', 'searxng_url=ftp://x'])).rejects.toMatchObject({ code: 'config_invalid' });
  });
});
