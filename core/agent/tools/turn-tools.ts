import { within } from '@pith/promises';
import { type Clock, codeOf, messageOf, type TurnInfo, type TurnPolicy, type TurnTool } from '../../contract/index.ts';
import { isBrought } from '../../kernel/index.ts';
import type { Host, ToolDescriptor } from '../../kernel/index.ts';
import { permits } from './gate.ts';
import { namedBeside, type ToolHost, type UnnamedTool, unnamed, type OfferedTool } from './tools.ts';

export interface TurnToolHost extends ToolHost {
  readonly brought: Pick<Host['brought'], 'open'>;
}

interface TurnToolsQuestion {
  readonly host: TurnToolHost;
  readonly clock: Clock;
  /** Extensions that are asked, in this order. */
  readonly providers: readonly string[];
  /** As providers are told it: `tools` are those of `uses_tools`. */
  readonly turn: TurnInfo;
  readonly policy: TurnPolicy;
  /** Names of tools that ship and may come during this turn. */
  readonly reserved: ReadonlySet<string>;
  /** What the turn has already. Their names stay, and they stay. */
  readonly offered: readonly OfferedTool[];
  /** Tools that are offered already may be told differently: only before the model has seen them. */
  readonly mayRedescribe: boolean;
  /** Awaited before an extension is asked. */
  readonly hooks?: { begin(extensionId: string, turn: TurnInfo): Promise<void> };
}

interface ToolsOfTurn {
  /** `offered`, and behind them what is new. */
  readonly tools: readonly OfferedTool[];
  readonly notices: readonly { readonly code: string; readonly message: string }[];
  /** Those of the extensions that bring others which are still being opened: they are worth asking again. */
  readonly late: readonly string[];
}

/** `offered` and what extensions bring to this turn. One that fails or is late brings nothing; never rejects. */
export async function withTurnTools(question: TurnToolsQuestion, signal: AbortSignal): Promise<ToolsOfTurn> {
  const { providers, turn, policy, mayRedescribe } = question;
  const answers = await Promise.all(providers.map((id) => ask(question, id, signal)));
  const offered = [...question.offered];
  const added = new Map<string, UnnamedTool>();
  for (const tool of answers.flatMap(({ tools }) => tools)) {
    const { extensionId, descriptor } = tool;
    const { name } = descriptor;
    if (!permits(policy, extensionId, name) || !isWanted(turn.agent.usesTools, extensionId, name)) continue;
    const index = offered.findIndex((tool) => tool.extensionId === extensionId && tool.descriptor.name === name);
    if (index < 0) added.set(`${extensionId}/${name}`, tool);
    else if (mayRedescribe) offered[index] = { ...(offered[index] as OfferedTool), descriptor };
  }
  return {
    tools: [...offered, ...namedBeside(offered, [...added.values()], question.reserved)],
    notices: answers.flatMap(({ notices }) => notices),
    late: providers.filter((_, index) => answers[index]?.late),
  };
}

/** Notices on extensions that somebody would have to bring, that `uses_tools` names, and that nobody brought. */
export function missingBrought(usesTools: readonly string[], tools: readonly OfferedTool[]): ToolsOfTurn['notices'] {
  return usesTools
    .filter(isBrought)
    .filter((entry) => !tools.some(({ extensionId, descriptor }) => entry === extensionId || entry === `${extensionId}/${descriptor.name}`))
    .map((entry) => ({ code: 'provider_unavailable', message: `the tools of '${entry}' are missing: nothing brings them now` }));
}

interface Answer extends Pick<ToolsOfTurn, 'notices'> {
  readonly tools: readonly UnnamedTool[];
  readonly late?: boolean;
}

async function ask(question: TurnToolsQuestion, extensionId: string, signal: AbortSignal): Promise<Answer> {
  const { turn } = question;
  const { tools } = question.host.providers;
  try {
    await question.hooks?.begin(extensionId, turn);
    const brought = await tools.ofTurn(extensionId, turn, signal);
    if (brought.length === 0) return NOTHING;
    const own = brought.some((each) => 'tool' in each) ? await tools.of(extensionId) : [];
    return merged(await Promise.all(distinct(brought).map((each) => resolve(question, extensionId, own, each))));
  } catch (error) {
    return failed(codeOf(error, 'provider_failed'), `'${extensionId}' brings no tools to this turn: ${messageOf(error)}`);
  }
}

/** One that is named twice is opened once. */
function distinct(brought: readonly TurnTool[]): readonly TurnTool[] {
  const seen = new Set<string>();
  return brought.filter((each) => {
    if (!('brought' in each)) return true;
    const isNew = !seen.has(each.brought);
    seen.add(each.brought);
    return isNew;
  });
}

async function resolve(
  question: TurnToolsQuestion,
  extensionId: string,
  own: readonly ToolDescriptor[],
  brought: TurnTool,
): Promise<Answer> {
  if ('brought' in brought) return open(question, extensionId, brought.brought);
  const { tool, ...told } = brought;
  const descriptor = own.find(({ name }) => name === tool);
  if (descriptor) return { tools: [unnamed(question.host.extensions, extensionId, { ...descriptor, ...told })], notices: [] };
  return failed('tool_unknown', `'${extensionId}' brings the tool '${tool}' to this turn, and has none of that name`);
}

async function open({ host, clock }: TurnToolsQuestion, bringerId: string, broughtId: string): Promise<Answer> {
  try {
    const opened = await openInTime(host, clock, bringerId, broughtId);
    if (opened === null) {
      const why = 'it is still being opened, and comes with a later step or message once it is';
      return { ...failed('provider_timeout', `the tools of '${broughtId}' are missing: ${why}`), late: true };
    }
    const { extensionId, tools, notes = [] } = opened;
    const notices = notes.map(({ code, message }) => ({ code, message }));
    return { tools: tools.map((descriptor) => ({ extensionId, descriptor })), notices };
  } catch (error) {
    const code = codeOf(error, 'provider_unavailable');
    return failed(code, `the tools of '${broughtId}' are missing: ${messageOf(error)}`);
  }
}

/** An agent that names single tools of what is brought gets those only. */
function isWanted(usesTools: readonly string[], extensionId: string, tool: string): boolean {
  if (!isBrought(extensionId) || usesTools.includes(extensionId)) return true;
  const named = usesTools.filter((entry) => entry.startsWith(`${extensionId}/`));
  return named.length === 0 || named.includes(`${extensionId}/${tool}`);
}

function merged(answers: readonly Answer[]): Answer {
  return {
    tools: answers.flatMap(({ tools }) => tools),
    notices: answers.flatMap(({ notices }) => notices),
    late: answers.some(({ late }) => late),
  };
}

function failed(code: string, message: string): Answer {
  return { tools: [], notices: [{ code, message }] };
}

const NOTHING: Answer = { tools: [], notices: [] };

/** Turns wait so long for what is brought in all, counted from the first that asked: most are there in less than one second. */
const PATIENCE_MS = 3000;

type Opened = Awaited<ReturnType<TurnToolHost['brought']['open']>>;

interface Opening {
  readonly since: number;
  readonly result: Promise<Opened>;
}

const underWay = new WeakMap<TurnToolHost, Map<string, Opening>>();

/** null: it is not open in time. It goes on, and is there for a later step or turn. Rejects with the reason why it cannot be opened. */
async function openInTime(host: TurnToolHost, clock: Clock, bringerId: string, broughtId: string): Promise<Opened | null> {
  const openings = underWay.get(host) ?? new Map<string, Opening>();
  underWay.set(host, openings);
  const key = `${bringerId} ${broughtId}`;
  const opening = openings.get(key) ?? { since: clock.now(), result: host.brought.open(bringerId, broughtId) };
  if (!openings.has(key)) {
    openings.set(key, opening);
    const settled = (): unknown => openings.delete(key);
    opening.result.then(settled, settled);
  }
  const left = opening.since + PATIENCE_MS - clock.now();
  return within(clock, Math.min(Math.max(0, left), PATIENCE_MS), opening.result, () => null); // the clock may have been set back
}
