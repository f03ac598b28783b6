import { gzipSync } from 'node:zlib';
import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { said, webKernel } from './web-kernel.ts';
import { pages, webServer } from './web-server.ts';

const ARTICLE = `<!doctype html><html><head><title>Of bees</title><style>p { color: red }</style></head><body>
  <nav><a href="/">Home</a> <a href="/login">Log in</a></nav>
  <article><h1>Of bees</h1>
    <p>${'Bees are insects, and they are known for their role in pollination. '.repeat(6)}<a href="../wax?a=1">About <b>wax</b></a>.</p>
    <h2>Kinds</h2><ul><li>Honey bees<ul><li>Italian</li></ul></li><li>Bumble bees</li></ul>
    <pre><code class="language-js">const bee = 1;
  fly(bee);</code></pre>
    <table><tr><th>Kind</th><th>Number</th></tr><tr><td>Honey | wild</td><td>3</td></tr></table>
    <p>${'The hive is where they live, work, and store what they collect. '.repeat(6)}<a href="javascript:alert(1)">Click</a></p>
    <script>steal()</script></article><footer>Imprint</footer></body></html>`;

async function fetched(type: string, body: string | Buffer) {
  const server = await webServer(pages({ '/a/page': [type, body] }));
  const web = await webKernel({ private_origins: [server.origin] });
  return { server, text: said(await web.fetch(`${server.origin}/a/page`)) };
}

describe('U7 web_fetch', () => {
  it('gives the main text of a page as Markdown, without what surrounds it and without scripts', async () => {
    const { text, server } = await fetched('text/html; charset=utf-8', ARTICLE);
    expect(text).toMatch(new RegExp(`^<from-outside url="${server.origin}/a/page">\n# Of bees\n`));
    expect(text).toContain(`[About **wax**](${server.origin}/wax?a=1).`);
    expect(text).toContain('## Kinds\n\n- Honey bees\n  - Italian\n- Bumble bees');
    expect(text).toContain('```js\nconst bee = 1;\n  fly(bee);\n```');
    expect(text).toContain('| Kind | Number |\n| --- | --- |\n| Honey \\| wild | 3 |');
    expect(text).toMatch(/<\/from-outside>$/);
    for (const none of ['Log in', 'Imprint', 'steal', 'javascript:', 'color: red']) expect(text).not.toContain(none);
    expect(server.requests[0]?.headers).not.toHaveProperty('cookie');
  });

  it('gives all the text of a page that is no article', async () => {
    const { text } = await fetched('text/html', '<title>List</title><ul><li><a href="b">One</a><li hidden>Two<li>Three</ul>');
    expect(text).toMatch(/# List\n\n- \[One\]\(http:\/\/.*\/a\/b\)\n- Three\n/);
  });

  it.each([
    ['text/plain', 'plain *text* <b>'],
    ['application/json', '{"a": [1, 2]}'],
    ['application/problem+json; charset=utf-8', '{"title": "x"}'],
    ['text/markdown', '# Title\n\n- a'],
    ['', 'no type at all'],
  ])('passes %s through as it is', async (type, body) => {
    expect((await fetched(type, body)).text).toContain(`>\n${body}\n</from-outside>`);
  });

  it.each([
    ['application/pdf', '%PDF-1.7', /is a PDF; only text can be read$/],
    ['image/png', 'x', /is of type image\/png; only text can be read$/],
    ['text/plain', 'a\0b', /of type text\/plain; only text can be read$/],
    ['', 'a\0b', /is not text; only text can be read$/],
    ['image/\u00a0\u009b31m', 'x', /is of type image\/.*\\x9b31m/],
  ])('refuses %s that is no text', async (type, body, message) => {
    const { text } = await fetched(type, body);
    expect(text).toMatch(/^web_not_text: 127\.0\.0\.1/);
    expect(text).toMatch(message);
  });

  const cyrillic = Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]); // Привет in windows-1251
  it.each<[string, string, Buffer, string]>([
    ['as the server says', 'text/plain; charset="windows-1251"', cyrillic, 'Привет'],
    [
      'as the page says',
      'text/html',
      Buffer.concat([
        Buffer.from('<html><head><meta http-equiv="Content-Type" content="text/html; charset=windows-1251"></head><body><p>'),
        cyrillic,
      ]),
      'Привет',
    ],
    ['of Japan', 'text/plain; charset=shift_jis', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), '日本'],
    ['with a mark at its beginning', 'text/plain', Buffer.from('\ufeffgrün', 'utf16le'), 'grün'],
    ['that nobody names, if it is no UTF-8', 'text/plain', Buffer.from([0x67, 0x72, 0xfc, 0x6e]), 'grün'],
    ['that nobody knows, as UTF-8', 'text/plain; charset=martian', Buffer.from('grün'), 'grün'],
  ])('reads a charset %s', async (_name, type, body, text) => {
    expect((await fetched(type, body)).text).toContain(`\n${text}\n`);
  });

  it('gives a long page in parts that fit together, and says what is left out', async () => {
    const body = Array.from({ length: 9000 }, (_, at) => `line ${at} of the page`).join('\n');
    const server = await webServer(pages({ '/': ['text/plain', body] }));
    const web = await webKernel({ private_origins: [server.origin] });
    const parts: string[] = [];
    for (let part = 1; part <= 5; part += 1) {
      const text = said(await web.fetch(server.origin, part));
      expect(text.length).toBeLessThan(40_500);
      expect(text).toContain(`This is part ${part} of 5.`);
      expect(text.includes(`part ${part + 1} gives the next one`)).toBe(part < 5);
      parts.push(/">\n([^]*)\n<\/from-outside>/.exec(text)![1]!);
    }
    expect(parts.join('')).toBe(body);
    expect(server.asked).toEqual(['GET /']);
    expect(said(await web.fetch(server.origin, 6))).toMatch(/^part_unknown: this page has 5 parts; part 6 was asked for$/);
  });

  it('reads 2 MB and no more, also of what was packed', async () => {
    const server = await webServer((request, response) => {
      response.setHeader('content-type', 'text/plain');
      if (request.url === '/packed') return response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(50_000_000, 'a')));
      const more = (): void => {
        while (!response.destroyed && response.write('b'.repeat(100_000)));
        if (!response.destroyed) response.once('drain', more);
      };
      return more();
    });
    const web = await webKernel({ private_origins: [server.origin] });
    for (const path of ['/endless', '/packed']) {
      const text = said(await web.fetch(server.origin + path));
      expect(text).toContain('This is part 1 of 53. ');
      expect(text).toContain('The end of the page is left out');
    }
  });

  it('gives up after 20 s, whatever came until then', async () => {
    const clock = fakeClock();
    let open = 0;
    const server = await webServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).write('a');
      open += 1;
      response.once('close', () => (open -= 1));
    });
    const web = await webKernel({ private_origins: [server.origin] }, { clock });
    await web.tools();
    const result = web.fetch(server.origin);
    await expect.poll(() => open).toBe(1);
    await clock.advance(20_000);
    expect(said(await result)).toBe(`limit_reached: ${server.host} could not be read: the page took longer than 20 s`);
    await expect.poll(() => open).toBe(0);
  });

  it('ends when the turn is stopped', async () => {
    const server = await webServer(() => undefined);
    const web = await webKernel({ private_origins: [server.origin] });
    const stop = new AbortController();
    const result = web.fetch(server.origin, undefined, stop.signal);
    await expect.poll(() => server.asked.length).toBe(1);
    stop.abort();
    expect(said(await result)).toMatch(/^aborted/);
  });

  it.each([
    [404, /answered 404 \(no such page\)/],
    [403, /answered 403 \(it refuses this page/],
    [500, /answered 500$/],
  ])('says that the server answered %i', async (status, message) => {
    const server = await webServer((_request, response) => response.writeHead(status, 'I\u009bm').end('<b>secret</b>'));
    const web = await webKernel({ private_origins: [server.origin] });
    const text = said(await web.fetch(server.origin));
    expect(text).toMatch(message);
    expect(text).not.toContain('secret');
  });

  it('says that nothing answers, and what is no address', async () => {
    const web = await webKernel({ private_origins: ['http://127.0.0.1:1'] });
    expect(said(await web.fetch('http://127.0.0.1:1/'))).toMatch(/^web_failed: 127\.0\.0\.1:1 could not be read: .*ECONNREFUSED/);
    expect(said(await web.fetch('ftp://a.example/x'))).toBe('tool_input_invalid: ftp: is not http or https');
    expect(said(await web.fetch('page one'))).toMatch(/^tool_input_invalid: this is not an address/);
    expect(said(await web.fetch('https://me:pw@a.example/'))).toMatch(/^tool_input_invalid: the address has a user name/);
  });
});
