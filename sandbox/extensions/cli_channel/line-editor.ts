import { LineEditor as ScreenEditor, PlainLines, type LineEditorOptions, type LineSource } from '@pith/line-editor';

/** Where the texts of a person come from, and where everything else is printed meanwhile. */
export type LineEditor = LineSource;

/** `plain`: nothing is ever drawn again, for screen readers and terminals that cannot move their cursor. */
export function openEditor(options: LineEditorOptions, plain: boolean): LineEditor {
  return plain ? new PlainLines(options) : new ScreenEditor(options);
}
