export { clipPainted } from './rows.ts';
export { LineEditor, type Completion, type LineEditorOptions, type LineSource, type TerminalStreams } from './line-editor.ts';
export { PlainLines } from './plain-lines.ts';
