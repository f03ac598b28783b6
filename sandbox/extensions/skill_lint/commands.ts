import { type Command, type JsonValue, PithError } from 'pith';
import { CONFORMANCE_INPUT, ConformanceMisused, runConformance } from '@pith/skill-files';

/** What needs neither skills nor the extension. Not in chat: it starts a program that a person names. */
export default function commands(): Command[] {
  return [
    {
      path: 'skills conformance',
      description: 'Run a table of odd skills against a program that lists skills as JSON, and say what it makes of each',
      ...CONFORMANCE_INPUT,
      slash: false,
      run: (input, io, signal) =>
        runConformance(
          input,
          {
            print: (text) => io.print(text),
            json: (value) => io.json(value as JsonValue),
            wantsJson: io.wantsJson,
            interactive: io.interactive,
            columns: io.columns,
            workingDirectory: io.workingDirectory,
          },
          signal,
        ).catch((error: unknown) => {
          if (error instanceof ConformanceMisused) throw new PithError('usage', error.message, { cure: error.cure });
          throw error;
        }),
    },
  ];
}
