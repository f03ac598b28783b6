import { messageOf, PithError, type TurnEvent } from '../contract/index.ts';

/** Anything thrown as a program gets it: a `PithError` whose cure is for a program. `ownModel`: its model is an object with a key of its own. */
export function errorForProgram(error: unknown, ownModel = false): PithError {
  if (!(error instanceof PithError)) return new PithError('internal', messageOf(error), { cause: error, cure: 'see its `cause`' });
  const { message, cure } = textsFor(error, ownModel);
  if (message === error.message && cure === error.cure) return error;
  return new PithError(error.code, message, { ...error, cause: error.cause, cure });
}

/** The same for what events tell. */
export function eventForProgram(event: TurnEvent, ownModel: boolean): TurnEvent {
  if (event.type === 'notice') return { ...event, message: textsFor(event, ownModel).message };
  if (event.type !== 'turn-end' || event.error === undefined) return event;
  const { cure: _cure, ...error } = event.error;
  return { ...event, error: { ...error, ...textsFor(event.error, ownModel) } };
}

interface Texts {
  readonly code: string;
  readonly message: string;
  readonly cure?: string | undefined;
}

/** Most texts are for a person at a command line. What they do by a command, a program does by its options and functions. */
function textsFor({ code, message, cure }: Texts, ownModel: boolean): { readonly message: string; readonly cure?: string } {
  const said = cure !== undefined && message.endsWith(`; ${cure}`) ? message.slice(0, -cure.length - 2) : message;
  const [first = '', ...more] = clausesOf(said);
  const kept = more.some(namesCommand) ? [first, ...more.filter((clause) => !namesCommand(clause))].join('; ') : said;
  const can = cureFor(code, cure, ownModel);
  return { message: said === message || can === undefined ? kept : `${kept}; ${can}`, ...(can === undefined ? {} : { cure: can }) };
}

function cureFor(code: string, cure: string | undefined, ownModel: boolean): string | undefined {
  const clauses = cure === undefined ? [] : clausesOf(cure.replaceAll(TYPED, ''));
  const command = clauses.findIndex(namesCommand);
  const usable = command < 0 ? cure?.replaceAll(TYPED, '') : clauses.slice(0, command).join('; ') || undefined; // what follows refers to the command
  if (code !== 'model_auth') return usable ?? CURES.get(code);
  return ownModel ? 'correct the key of the model object' : `in \`env\` of createPith: ${usable ?? 'give its key'}`;
}

function clausesOf(text: string): readonly string[] {
  return text.split(/; |, or |: (?=(?:see|run)\b)/u);
}

function namesCommand(clause: string): boolean {
  return /\bpith (?!process\b)[a-z]/u.test(clause);
}

/** A command of a chat beside what it does: `compact the thread (/compact)`. */
const TYPED = / \(\/[a-z]+\)/gu;

const CURES: ReadonlyMap<string, string> = new Map([
  ['agent_unknown', 'name an agent of `agents` or of the sandbox'],
  ['approval_answered', 'see `questions` of the thread'],
  ['approval_unknown', 'see `questions` of the thread'],
  ['thread_unknown', 'see `threads.list`'],
]);
