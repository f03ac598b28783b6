import { Lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren, VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { CodeBlock } from './code-block.tsx';

/** The lexer takes the square of this for a paragraph of nothing but marks, and 100,000 characters take minutes. */
const MOST_INLINE = 5_000;
/** Quotations and lists within each other: each is a call within a call, for the lexer and for the page. */
const TOO_DEEP = /^(?:(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])){50}|[ \t]{200,}(?:[-*+]|\d{1,9}[.)])[ \t])/m;

/** Markdown as elements, made from the lexer's tokens: no HTML of a text reaches the browser as HTML. What is too deep is shown as it is. */
export function Markdown({ text }: { readonly text: string }): VNode {
  const tokens = useMemo(() => (TOO_DEEP.test(text) ? null : tokensOf(text)), [text]);
  return tokens === null ? <div class="markdown pre">{text}</div> : <div class="markdown">{blocks(tokens)}</div>;
}

function tokensOf(text: string): readonly Token[] {
  const lexer = new Lexer({ gfm: true, breaks: false });
  const tokens = lexer.blockTokens(text.replaceAll(/\r\n?/gu, '\n'));
  for (const { src, tokens: inner } of lexer.inlineQueue)
    if (src.length > MOST_INLINE) inner.push({ type: 'text', raw: src, text: src, escaped: false });
    else lexer.inlineTokens(src, inner);
  return tokens;
}

function blocks(tokens: readonly Token[]): ComponentChildren {
  return tokens.map((token, at) => <Block key={at} token={token} />);
}

function Block({ token }: { readonly token: Token }): ComponentChildren {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading':
      return heading(token as Tokens.Heading);
    case 'paragraph':
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case 'text': {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? text : inline(tokens);
    }
    case 'code': {
      const { text, lang = '' } = token as Tokens.Code;
      return <CodeBlock code={text} language={lang} />;
    }
    case 'blockquote':
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case 'list':
      return list(token as Tokens.List);
    case 'table':
      return table(token as Tokens.Table);
    case 'hr':
      return <hr />;
    default:
      return <p>{token.raw}</p>; // HTML, and what else there may be: shown as text
  }
}

function heading({ depth, tokens }: Tokens.Heading): VNode {
  const Name = `h${Math.min(6, depth + 1)}` as 'h2' | 'h3' | 'h4' | 'h5' | 'h6'; // the page has the first
  return <Name>{inline(tokens)}</Name>;
}

function list({ ordered, start, items }: Tokens.List): VNode {
  const rows = items.map((item, at) => (
    <li key={at}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled aria-label={item.checked ? 'done' : 'to do'} />}
      {blocks(item.tokens)}
    </li>
  ));
  return ordered ? <ol start={Number(start) || 1}>{rows}</ol> : <ul>{rows}</ul>;
}

function table({ header, rows }: Tokens.Table): VNode {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map((cell, at) => (
              <th key={at} scope="col" class={cell.align ?? ''}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} class={cell.align ?? ''}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[] = []): ComponentChildren {
  return tokens.map((token, at) => <Inline key={at} token={token} />);
}

function Inline({ token }: { readonly token: Token }): ComponentChildren {
  switch (token.type) {
    case 'text': {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? plain(text) : inline(tokens);
    }
    case 'escape':
      return (token as Tokens.Escape).text;
    case 'strong':
      return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
    case 'em':
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case 'del':
      return <del>{inline((token as Tokens.Del).tokens)}</del>;
    case 'codespan':
      return <code>{plain((token as Tokens.Codespan).text)}</code>;
    case 'br':
      return <br />;
    case 'link': {
      const { href, tokens } = token as Tokens.Link;
      return (
        <SafeLink address={href} said={textOf(tokens)}>
          {inline(tokens)}
        </SafeLink>
      );
    }
    case 'image': {
      const { href, text } = token as Tokens.Image;
      return <Picture address={href} text={text} />;
    }
    default:
      return token.raw;
  }
}

/** The lexer escapes some texts for HTML, which this is not. */
function plain(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '');
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

const PROTOCOLS = ['https:', 'http:', 'mailto:'];

interface SafeLinkProps {
  readonly address: string;
  /** Its text. */
  readonly said: string;
  readonly children: ComponentChildren;
}

/** A link to somewhere else; any other kind of address is text. One whose text is another address has its own beside it. */
function SafeLink({ address, said, children }: SafeLinkProps): VNode {
  const url = urlOf(address);
  if (url === null || !PROTOCOLS.includes(url.protocol)) return <span title={address}>{children}</span>;
  const to = hostOf(url);
  const claimed = hostIn(said);
  return (
    <>
      <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
      {claimed !== null && claimed !== to && <span class="target"> (leads to {to})</span>}
    </>
  );
}

function urlOf(address: string): URL | null {
  return URL.canParse(address) ? new URL(address) : null;
}

/** Where a text seems to lead; null: it does not look like an address. */
function hostIn(said: string): string | null {
  const text = said.replaceAll(/[\p{C}\s]/gu, '');
  const bare = /^(?:[^\s@/]+@)?(?:[\p{L}\p{N}_-]+\.)+\p{L}{2,}\.?(?:[:/?#].*)?$/u;
  const url = /^[a-z]+:\/\//iu.test(text) ? urlOf(text) : bare.test(text) ? urlOf(`https://${text}`) : null;
  return url === null ? null : hostOf(url);
}

function hostOf({ protocol, host, pathname }: URL): string {
  return (protocol === 'mailto:' ? pathname.slice(pathname.lastIndexOf('@') + 1) : host).toLowerCase().replace(/^www\./u, '');
}

function textOf(tokens: readonly Token[] = []): string {
  return tokens
    .map((token) => ('tokens' in token && token.tokens !== undefined ? textOf(token.tokens) : 'text' in token ? String(token.text) : ''))
    .join('');
}

/** Nothing is fetched from elsewhere before a person asks for it. */
function Picture({ address, text }: { readonly address: string; readonly text: string }): VNode {
  const [isWanted, setWanted] = useState(false);
  const url = urlOf(address);
  if (url === null || url.protocol !== 'https:') return <span class="muted">[image: {text || address}]</span>;
  if (isWanted)
    return (
      <SafeLink address={url.href} said={text}>
        {text || url.href}
      </SafeLink>
    );
  return (
    <button type="button" class="quiet" onClick={() => setWanted(true)} title={url.href}>
      Image from {url.host}
      {text && `: ${text}`}
    </button>
  );
}
