import { fieldsOf } from '@pith/plain-data';
import { type Command, type CommandInput, type CommandIO, PithError } from '../contract/index.ts';
import { printable, printableLine } from '@pith/plain-text';
import { toJsonValue } from '../kernel/index.ts';
import { givenObject, givenText, givenTexts } from './crossing.ts';
import type { Incoming, Peer } from '@pith/process-rpc';

type CommandSession = NonNullable<CommandIO['session']>;
/** What of a `CommandIO` is plain data. */
type IoFacts = Pick<CommandIO, 'interactive' | 'wantsJson' | 'quiet' | 'colour' | 'columns' | 'workingDirectory' | 'userId'> & {
  readonly session?: Omit<CommandSession, 'send'>;
};

type FunctionIn<T> = { [Key in keyof T]-?: NonNullable<T[Key]> extends (...given: never) => unknown ? Key : never }[keyof T];
/** What of a command stays where it was made: its functions. */
const STAYS: Readonly<Record<FunctionIn<Command>, true>> = { run: true, runBeforeStart: true, result: true };

export type CommandData = Omit<Command, keyof typeof STAYS>;

/** The terminals behind the commands that the other side runs for this one. */
export class CommandCalls {
  readonly #runs = new Map<number, CommandIO>();
  #last = 0;

  /** Commands of the other side: `from` are the arguments that name whose. */
  commandsOf(peer: Peer, from: readonly unknown[], list: unknown): readonly Command[] {
    return commandsIn(list).map((data) => ({
      ...data,
      run: async (input, io, signal) => {
        const run = ++this.#last;
        this.#runs.set(run, io);
        try {
          const { interactive, wantsJson, quiet, columns, workingDirectory, userId, session } = io;
          const plain = { interactive, wantsJson, quiet, colour: false, columns, workingDirectory, userId }; // its escapes are shown, not obeyed
          const facts: IoFacts = { ...plain, ...(session ? { session: plainSession(session) } : {}) };
          const code = await peer.call('command.run', [...from, data.path, input, run, facts], signal);
          return typeof code === 'number' ? code : undefined;
        } finally {
          this.#runs.delete(run);
        }
      },
    }));
  }

  /** What a command says to its terminal. Throws `stopped` when the command has ended. */
  serve(operation: string, [run, ...args]: readonly unknown[]): unknown {
    const io = typeof run === 'number' ? this.#runs.get(run) : undefined;
    if (!io) throw new PithError('stopped', 'the command has ended: nobody reads what it says');
    switch (operation) {
      case 'io.print':
        return io.print(printable(givenText(args[0], 'what is printed')));
      case 'io.error':
        return io.error(printable(givenText(args[0], 'what is printed')));
      case 'io.json':
        return io.json(toJsonValue(args[0], 'the value'));
      case 'io.send':
        if (!io.session) throw new PithError('usage', 'nothing can be sent: the command was not typed in a conversation');
        return io.session.send(givenText(args[0], 'what is sent'));
      case 'io.ask':
        return io.ask(printable(givenText(args[0], 'a question')), questionOptions(args[1]));
      case 'io.input':
        return io.input;
      default:
        throw new PithError('not_declared', `there is no ${operation}`);
    }
  }
}

function plainSession({ threadId, agentId, model }: CommandSession): Omit<CommandSession, 'send'> {
  return { threadId, agentId, ...(model === undefined ? {} : { model }) };
}

const MOST_COMMANDS = 1000;

/** The commands in what a process says that it offers. Throws `parameter_invalid` for anything else. */
function commandsIn(list: unknown): readonly CommandData[] {
  const commands = toJsonValue(list, 'the commands');
  if (Array.isArray(commands) && commands.length <= MOST_COMMANDS && commands.every(isCommand))
    return commandData(commands as CommandData[]);
  throw new PithError('parameter_invalid', 'it did not say its commands as a list of path and description', {
    cure: 'return from getCommands what the type Command says',
  });
}

function isCommand(value: unknown): boolean {
  const { path, description, arguments: words = [], options = [] } = fieldsOf(value);
  return (
    typeof path === 'string' &&
    path !== '' &&
    typeof description === 'string' &&
    [words, options].every((list) => Array.isArray(list) && list.every((each) => typeof fieldsOf(each)['name'] === 'string'))
  );
}

/** Without what cannot cross. */
export function commandData(commands: readonly CommandData[]): readonly CommandData[] {
  const crosses = ([name, value]: [string, unknown]) => typeof value !== 'function' && !Object.hasOwn(STAYS, name);
  return commands.map((command) => Object.fromEntries(Object.entries(command).filter(crosses)) as unknown as CommandData);
}

/** Runs one of `commands` for the other side. */
export async function runFor(
  peer: Peer,
  commands: readonly Command[],
  [path, input, run, facts]: readonly unknown[],
  incoming: Incoming,
): Promise<number | void> {
  const command = commands.find((each) => each.path === path);
  if (!command)
    throw new PithError('command_unknown', `there is no command '${typeof path === 'string' ? path : typeof path}' any more`, {
      cure: 'see: pith --help',
    });
  const { session, ...plain } = facts as IoFacts;
  const io: CommandIO = {
    ...plain,
    ...(session ? { session: { ...session, send: (text) => peer.notify('io.send', [run, String(text)]) } } : {}),
    print: (text) => peer.notify('io.print', [run, String(text)]),
    error: (text) => peer.notify('io.error', [run, String(text)]),
    json: (value) => peer.notify('io.json', [run, value]),
    ask: async (question, options) => {
      const answer = await peer.call('io.ask', [run, question, options]);
      return typeof answer === 'string' ? answer : null;
    },
    input: { [Symbol.asyncIterator]: () => peer.stream('io.input', [run]) as AsyncIterator<string> },
  };
  return command.run(input as CommandInput, io, incoming.signal);
}

const MOST_CHOICES = 100;
const MOST_SERIOUS = 1000;

function questionOptions(given: unknown): Parameters<CommandIO['ask']>[1] {
  const { choices, secret, serious } = givenObject(given ?? {}, 'the options of a question');
  return {
    ...(choices === undefined ? {} : { choices: givenTexts(choices, 'the choices', MOST_CHOICES) }),
    ...(secret === true ? { secret } : {}),
    ...(serious === undefined ? {} : { serious: givenTexts(serious, 'what is serious', MOST_SERIOUS).map((line) => printableLine(line)) }),
  };
}
