import hljs from 'highlight.js/lib/common';
import { h, type ComponentChildren } from 'preact';

/** A node of the library's tree: a text, or a scope with nodes in it. */
interface ScopeNode {
  readonly scope?: string;
  readonly children: readonly (ScopeNode | string)[];
}

const LONGEST = 50_000;

/** Code as elements, from the library's tree: its HTML is never used. */
export function coloured(code: string, info: string): ComponentChildren {
  const language = /^\{?\.?([\w+#-]{1,30})/u.exec(info)?.[1]?.toLowerCase() ?? '';
  if (code.length > LONGEST || hljs.getLanguage(language) === undefined) return code;
  const { _emitter: emitter } = hljs.highlight(code, { language, ignoreIllegals: true }) as unknown as {
    readonly _emitter: { readonly rootNode: ScopeNode };
  };
  return elementsOf(emitter.rootNode);
}

function elementsOf({ children }: ScopeNode): ComponentChildren {
  return children.map((child) =>
    typeof child === 'string' ? child : h('span', { class: `hl-${child.scope?.split('.')[0] ?? ''}` }, elementsOf(child)),
  );
}
