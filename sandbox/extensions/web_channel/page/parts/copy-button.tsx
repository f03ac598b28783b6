import type { VNode } from 'preact';
import { useState } from 'preact/hooks';

export function CopyButton({ text }: { readonly text: string }): VNode {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    if (!(await copied(text))) return;
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  );
}

/** False: the browser refuses it. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // browsers offer a clipboard only over https and on their own machine; what is selected they copy everywhere
    const active = document.activeElement;
    const box = Object.assign(document.createElement('textarea'), { value: text, className: 'unseen' });
    document.body.append(box);
    box.select();
    const isCopied = document.execCommand('copy');
    box.remove();
    if (active instanceof HTMLElement) active.focus();
    return isCopied;
  }
}
