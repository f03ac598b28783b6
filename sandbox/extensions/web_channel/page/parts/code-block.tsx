import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import type { coloured as Coloured } from './colours.ts';
import { CopyButton } from './copy-button.tsx';

/** Loaded with the first block of code. */
const colours = signal<typeof Coloured | null>(null);

/** Code as it is. */
export function CodeBlock({ code, language }: { readonly code: string; readonly language: string }): VNode {
  useEffect(() => {
    if (language !== '' && colours.value === null) void import('./colours.ts').then(({ coloured }) => (colours.value = coloured));
  }, [language]);
  const { value } = colours;
  return (
    <figure class="code">
      <figcaption>
        <span>{language}</span>
        <CopyButton text={code} />
      </figcaption>
      <pre tabIndex={0} aria-label={language === '' ? 'Code' : `Code in ${language}`}>
        <code>{value === null ? code : value(code, language)}</code>
      </pre>
    </figure>
  );
}
