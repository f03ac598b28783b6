import { MarkdownStream } from './markdown-stream.ts';

/** A text from outside of the conversation, rendered as Markdown. All but its mark is indented, so that no line of it looks like one of Pith's. */
export function noticeBlock(text: string, mark: string, options: { readonly colour: boolean; readonly columns: number }): string {
  let rendered = '';
  const stream = new MarkdownStream((part) => (rendered += part), { colour: options.colour, columns: () => options.columns - 2 });
  stream.feed(text);
  stream.end();
  const lines = rendered.trimEnd().split('\n');
  return lines.map((line, at) => (at === 0 ? `${mark} ${line}` : line === '' ? '' : `  ${line}`)).join('\n');
}
