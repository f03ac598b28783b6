import { renderMarkdown } from './markdown-stream.ts';

/** A text from outside of the conversation, rendered as Markdown. All but its mark is indented, so that no line of it looks like one of Pith's. */
export function noticeBlock(text: string, mark: string, options: { readonly colour: boolean; readonly columns: number }): string {
  const lines = renderMarkdown(text, { ...options, columns: options.columns - 2 }).split('\n');
  return lines.map((line, at) => (at === 0 ? `${mark} ${line}` : line === '' ? '' : `  ${line}`)).join('\n');
}
