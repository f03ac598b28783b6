export { actingUser, type ActingUser } from './acting-user.ts';
export { captureCommand, type CapturedCommand, type CommandSource } from './capture-command.ts';
export {
  commandUsage,
  countOption,
  matchCommand,
  optionUsage,
  parseCommandInput,
  pathThrough,
  pathUsage,
  type CommandOption,
  type CommandShape,
} from './command-line.ts';
export { cureParts, type CureParts } from './cure-command.ts';
export { describedRows } from './described-rows.ts';
export { kernelCommands, ofKernel } from './kernel-commands.ts';
export { AFTER, OPEN, PAGE_OPTIONS, pageOf } from './list-page.ts';
export { localTime } from './local-time.ts';
export { needsPerson } from './needs-person.ts';
export { filteredProgramOf, readOnlyCommandOf, type ReadOnlyCommand } from './read-only-commands.ts';
export { programsOf, quotedPrograms, shownCommand, shownQuoted, shownWords, type Program, type Words } from './shell-words.ts';
export { spanOf } from './span.ts';
export { renderTable, textColumns, whoCells, widthOf, type Column } from './table.ts';
