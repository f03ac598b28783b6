import { messageOf, type ExtensionContext, type TurnEvent, type TurnInfo, type TurnPolicy, type TurnRequest, SkillProvider } from 'pith';
import { skillUsed } from 'pith/skill_registry';
import { ulid } from 'ulid';
import { printableLine } from '@pith/plain-text';

/** What of the context a conversation needs. */
export type ChatContext = Pick<ExtensionContext, 'id' | 'agents' | 'events' | 'find' | 'clock' | 'config' | 'dataDirectory' | 'logger'>;

/** A message, and what goes with it. */
export interface Sent {
  readonly input: string;
  readonly attachments: readonly Attachment[];
  /** Those that the person loaded for it: they come before other attachments. */
  readonly skills: readonly LoadedSkill[];
}

type TurnStart = Extract<TurnEvent, { type: 'turn-start' }>;

/** What a person chose for a conversation; absent: as its agent and the settings say. */
export type Choice = Pick<TurnPolicy, 'model' | 'effort'>;

/** One person's talk: with whom, in which thread, by which model. */
export class Conversation {
  agentId: string;
  threadId: string;
  /** Who talks; absent: whoever the kernel takes for it. */
  readonly userId: string | undefined;
  choice: Choice;
  /** Plan mode: only reading tools run. */
  isPlanning = false;
  /** The number of the person's message in whose place the next one comes, in a branch; null: the next one is said here. */
  editing: number | null = null;
  /** `threadId` has messages. */
  begun = false;

  /** What was chosen in the threads that the person left. */
  readonly #left = new Map<string, Choice>();

  constructor(
    private readonly context: ChatContext,
    private readonly start: { readonly agentId: string; readonly userId?: string; readonly threadId?: string; readonly choice?: Choice },
  ) {
    this.agentId = start.agentId;
    this.userId = start.userId;
    this.threadId = start.threadId ?? newThreadId(context.clock.now());
    this.choice = start.choice ?? {};
  }

  /** One turn; never throws. null continues the one that was interrupted. */
  async *runTurn(message: Sent | null, signal: AbortSignal): AsyncGenerator<TurnEvent> {
    this.begun = true;
    const { agentId: agent, userId, threadId, choice, isPlanning } = this;
    const narrowed: TurnPolicy = { ...choice, ...(isPlanning ? { readOnly: true } : {}) };
    const policy = Object.values(narrowed).some((each) => each !== undefined) ? narrowed : undefined;
    const { skills, attachments: others, ...words } = message ?? { skills: [], attachments: [], resume: true };
    const attachments = [...skills.map(({ attachment }) => attachment), ...others];
    const request = { agent, threadId, userId, channelId: CHANNEL_ID, policy, attachments, ...words };
    for await (const event of this.context.agents.run(request, signal)) {
      if (event.type === 'turn-start') this.#report(skills, event);
      yield event;
    }
  }

  /** Skills that a person loaded are counted as those that a model reads. */
  #report(skills: readonly LoadedSkill[], { turn: turnId, thread: threadId, agent: agentId }: TurnStart): void {
    const { events, logger } = this.context;
    const loaded = { turnId, threadId, agentId, state: 'loaded', how: 'slash', correlationId: null } as const;
    try {
      for (const { id: skillId, sha256 } of skills) events.publish(skillUsed, { ...loaded, skillId, sha256 });
    } catch (error) {
      logger.warn('loaded skills not counted', { reason: messageOf(error) }); // skills come from elsewhere than the registry, which defines the topic
    }
  }

  startNew(): void {
    this.#left.set(this.threadId, this.choice);
    this.threadId = newThreadId(this.context.clock.now());
    this.choice = this.start.choice ?? {};
    this.editing = null;
    this.begun = false;
  }

  /** Goes on in a thread that exists. `choice`: what was chosen there for the last message, if nothing was here since; default: what was chosen here. */
  moveTo(threadId: string, choice: Choice = this.choice): void {
    this.#left.set(this.threadId, this.choice);
    this.threadId = threadId;
    this.choice = this.#left.get(threadId) ?? choice;
    this.editing = null;
    this.begun = true;
  }
}

/** Short, readable and in the order of time: `kbz3h2m9-4fxq`. */
export function newThreadId(now: number): string {
  const id = ulid(now).toLowerCase();
  return `${id.slice(2, 10)}-${id.slice(10, 14)}`; // the first two characters change once in centuries
}

/** The channel id of a conversation in a terminal. */
const CHANNEL_ID = 'cli';

/** The same bytes for every turn of a user, so that prompt caches live; null for conversations of other channels. */
export function describeChannel(turn: Pick<TurnInfo, 'channelId' | 'userId'>): string | null {
  if (turn.channelId !== CHANNEL_ID) return null;
  return [
    '[Channel]',
    `You are talking with the user \`${turn.userId}\` in a terminal.`,
    'Your answer is shown as Markdown: headings, lists, bold, code and small tables. Images, HTML and LaTeX are not shown.',
    'Keep answers short: a terminal shows about 40 lines.',
  ].join('\n');
}

export type Attachment = NonNullable<TurnRequest['attachments']>[number];

/** A skill that a person asked for by its name, to be sent with a message. */
export interface LoadedSkill {
  readonly id: string;
  /** Of the whole SKILL.md. */
  readonly sha256: string;
  readonly attachment: Attachment;
}

/** null where the agent may read no skill of that name. */
export async function loadSkill(
  context: Pick<ChatContext, 'agents' | 'find'>,
  agentId: string,
  name: string,
  signal: AbortSignal,
): Promise<LoadedSkill | null> {
  const agent = await context.agents.find(agentId);
  for (const provider of context.find(SkillProvider)) {
    const readable = (await provider.readableSkills?.(agent, signal)) ?? [];
    if (!readable.includes(name)) continue;
    const content = await provider.getSkillContent(name, signal);
    return { id: content.id, sha256: content.sha256, attachment: { name: `skill ${name}`, text: envelope(content) } };
  }
  return null;
}

/** As a model is given a skill that it reads itself. */
function envelope({ id, version, sha256, body }: Awaited<ReturnType<SkillProvider['getSkillContent']>>): string {
  const name = printableLine(id);
  const end = /<\/skill/iu.test(body) ? `</skill sha256="${sha256}">` : '</skill>'; // no text can imitate it
  return [
    `[Skill: ${name}]`,
    `version: ${version === null ? 'none' : printableLine(version)}`,
    `sha256: ${sha256}`,
    'The person has loaded this skill for their message. Other files of it are read with the tools for skills.',
    '',
    `<skill id="${name.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')}" sha256="${sha256}">`,
    body,
    end,
    '',
    `[End of skill: ${name}, sha256 ${sha256.slice(0, 12)}]`,
  ].join('\n');
}

/** Those that the agent may read; none where the agent cannot run. */
export async function skillNames(context: Pick<ChatContext, 'agents' | 'find'>, agentId: string): Promise<readonly string[]> {
  try {
    const agent = await context.agents.find(agentId);
    return (await Promise.all(context.find(SkillProvider).map((provider) => provider.readableSkills?.(agent) ?? []))).flat();
  } catch {
    return []; // a message says what is wrong with the agent
  }
}

/** The first agent that may read that skill; null: none may. */
export async function readerOf(context: Pick<ChatContext, 'agents' | 'find'>, skill: string): Promise<string | null> {
  for (const { id } of await context.agents.list()) if ((await skillNames(context, id)).includes(skill)) return id;
  return null;
}
