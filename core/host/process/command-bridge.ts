import { PithError } from '../../contract/errors.ts';
import type { Command, CommandInput, CommandIO, JsonValue } from '../../contract/index.ts';
import type { Incoming, Peer } from './peer.ts';

/** What of a `CommandIO` is plain data. */
type IoFacts = Pick<CommandIO, 'interactive' | 'wantsJson' | 'quiet' | 'colour' | 'columns' | 'session'>;

export type CommandData = Omit<Command, 'run'>;

/** The terminals behind the commands that the other side runs for this one. */
export class CommandCalls {
  readonly #runs = new Map<number, CommandIO>();
  #last = 0;

  /** Commands of the other side: `from` are the arguments that name whose. */
  commandsOf(peer: Peer, from: readonly unknown[], list: readonly CommandData[]): readonly Command[] {
    return list.map((data) => ({
      ...data,
      run: async (input, io, signal) => {
        const run = ++this.#last;
        this.#runs.set(run, io);
        try {
          const { interactive, wantsJson, quiet, colour, columns, session } = io;
          const facts: IoFacts = { interactive, wantsJson, quiet, colour, columns, session };
          const code = await peer.call('command.run', [...from, data.path, input, run, facts], signal);
          return typeof code === 'number' ? code : undefined;
        } finally {
          this.#runs.delete(run);
        }
      },
    }));
  }

  /** What a command says to its terminal; undefined for what is none of that. */
  serve(operation: string, [run, ...args]: readonly unknown[]): unknown {
    const io = this.#runs.get(Number(run));
    if (!io) throw new PithError('stopped', 'the command has ended: nobody reads what it says');
    switch (operation) {
      case 'io.print':
        return io.print(String(args[0]));
      case 'io.error':
        return io.error(String(args[0]));
      case 'io.json':
        return io.json(args[0] as JsonValue);
      case 'io.ask':
        return io.ask(String(args[0]), args[1] as Parameters<CommandIO['ask']>[1]);
      case 'io.input':
        return io.input;
      default:
        throw new PithError('not_declared', `there is no ${operation}`);
    }
  }
}

/** Without what cannot cross. */
export function commandData(commands: readonly Command[]): readonly CommandData[] {
  return commands.map((command) => ({ ...command, run: undefined }));
}

/** Runs one of `commands` for the other side. */
export async function runFor(
  peer: Peer,
  commands: readonly Command[],
  [path, input, run, facts]: readonly unknown[],
  incoming: Incoming,
): Promise<number | void> {
  const command = commands.find((each) => each.path === path);
  if (!command) throw new PithError('command_unknown', `there is no command '${String(path)}' any more`, { cure: 'see: pith --help' });
  const io: CommandIO = {
    ...(facts as IoFacts),
    print: (text) => peer.tell('io.print', [run, text]),
    error: (text) => peer.tell('io.error', [run, text]),
    json: (value) => peer.tell('io.json', [run, value]),
    ask: async (question, options) => (await peer.call('io.ask', [run, question, options])) as string | null,
    input: { [Symbol.asyncIterator]: () => peer.stream('io.input', [run]) as AsyncIterator<string> },
  };
  return command.run(input as CommandInput, io, incoming.signalOf());
}
