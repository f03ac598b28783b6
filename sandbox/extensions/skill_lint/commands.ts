import { type Command, type JsonValue, PithError } from 'pith';
import { CONFORMANCE_INPUT, loadConformance } from '@pith/skill-files';

/** What needs neither skills nor the extension. Not in chat: it starts a program that a person names. */
export default function commands(): Command[] {
  return [
    {
      path: 'skills conformance',
      description: 'Run a table of odd skills against a program that lists skills as JSON, and say what it makes of each',
      ...CONFORMANCE_INPUT,
      slash: false,
      async run(input, io, signal) {
        const { ConformanceMisused, runConformance } = await loadConformance();
        const { wantsJson, interactive, columns, workingDirectory } = io;
        const print = (text: string) => io.print(text);
        const json = (value: unknown) => io.json(value as JsonValue);
        try {
          return await runConformance(input, { print, json, wantsJson, interactive, columns, workingDirectory }, signal);
        } catch (error) {
          if (error instanceof ConformanceMisused) throw new PithError('usage', error.message, { cure: error.cure });
          throw error;
        }
      },
    },
  ];
}
