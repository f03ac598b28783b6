import type { CommandOption } from '@pith/command-line';
import { LISTING_FIELDS } from './listing.ts';

/** The words after the command's own, for whoever offers it. */
export const CONFORMANCE_INPUT = {
  arguments: [
    {
      name: 'command',
      description:
        'after --: what lists skills as JSON; {dir} means the folder of skills, {root} for the one above it; without either, the folder is added at the end',
      variadic: true,
    },
  ],
  options: [
    {
      name: 'map',
      type: 'string',
      description: `under which keys its listing has what, such as id=slug,description=meta.text (${LISTING_FIELDS.join(', ')})`,
    },
    { name: 'key', type: 'string', description: 'the key of the list of skills' },
    { name: 'cwd', type: 'string', description: 'the folder in which it runs, such as {root} (default: this one)' },
    { name: 'case', type: 'string', description: 'only this case, or those of this area', multiple: true },
    { name: 'timeout', type: 'number', description: 'seconds for each case', default: 10 },
    { name: 'jobs', type: 'number', description: 'how many cases run at a time', default: 2 },
    { name: 'strict', type: 'boolean', description: 'exit with 1 where a verdict of the specification is not met, too' },
    { name: 'cases', type: 'boolean', description: 'print the cases and their verdicts, and run nothing' },
  ] satisfies CommandOption[],
};
