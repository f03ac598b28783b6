import { withCure } from '@pith/plain-text';
import { ChannelProvider, codeOf, messageOf, PithError, type ExtensionContext, type Job, type Remote } from 'pith';
import type { Config } from '../config.ts';
import type { SavedSkill } from '../domain/saved-skill.ts';
import type { SkillStore } from '../store/skill-store.ts';
import type { RunStore } from './run-store.ts';
import type { OfRun, Run } from './run.ts';
import type { Summarise } from './summary.ts';

type Context = Pick<ExtensionContext<Config>, 'config' | 'events' | 'find' | 'logger'>;

/** Codes of failures that another attempt would meet again. */
const FINAL: ReadonlySet<string> = new Set(['channel_unknown', 'run_damaged']);

/** Whether the output of a run goes anywhere besides to who asked for it. */
export function isDelivered({ cause, parentId, origin }: Run, { kind, target }: SavedSkill['output_target']): boolean {
  if (parentId !== null || kind === 'webui_only') return false;
  const isAwaited = cause === 'manual' || cause === 'tool';
  return !isAwaited || target !== '' || kind === 'channel_with_summary' || (kind === 'thread' && origin.named !== undefined);
}

/** What the parts of a delivery are made with. */
export interface Reporter {
  readonly context: { readonly config: Pick<Config, 'summary_channel_id'> };
  readonly skills: Pick<SkillStore, 'version'>;
  readonly summarise: Summarise;
}

interface Deliverer extends Reporter {
  readonly context: Context;
  readonly runs: RunStore;
}

/** A failed delivery is an error of the delivery, never of the run, and is tried again: then it rejects. */
export async function deliver({ context, skills, runs, summarise }: Deliverer, job: Job<OfRun>, signal?: AbortSignal): Promise<void> {
  const run = await runs.delivers(job.payload.run, job);
  if (run === null) return;
  const write = (change: Parameters<RunStore['delivering']>[2]) => runs.delivering(run.id, job, change);
  try {
    if (run.isDamaged) throw new PithError('run_damaged', run.error?.message ?? 'the record of the run cannot be read');
    if (run.sealed !== null) throw new PithError('key_unavailable', run.sealed);
    const parts = await partsDue({ context, skills, summarise }, run, signal);
    for (const [at, part] of parts.entries()) {
      if (at < run.partsDelivered) continue;
      await send(context, run, { ...part, key: at === 0 ? run.id : `${run.id}/${at}` });
      await write({ parts_delivered: at + 1 });
    }
    await write({ delivery: 'delivered', delivery_error: null });
  } catch (error) {
    const reason = withCure(messageOf(error), error instanceof PithError ? error.cure : undefined);
    context.logger.warn('the result of a run was not delivered', { run: run.id, reason, attempts: job.attempt });
    await write({ delivery_error: reason.slice(0, 2000) });
    if (!FINAL.has(codeOf(error, ''))) throw error;
    await runs.undelivered(run.id, reason);
  }
}

/** A text and where it goes. An empty target is where the run was asked for. */
interface Part {
  readonly text: string;
  readonly target: string;
  readonly threadId: string | null;
}

/** What goes where; nothing where the version of the run is gone. */
export async function partsDue({ context, skills, summarise }: Reporter, run: Run, signal?: AbortSignal): Promise<readonly Part[]> {
  const version = await skills.version(run.skillId, run.versionId);
  if (version === null) return [];
  const { output_target } = version.snapshot;
  const elsewhere = output_target.kind === 'channel_with_summary' ? context.config.summary_channel_id : '';
  if (elsewhere === '' || elsewhere === output_target.target) return partsOf(run, output_target);
  return partsOf(run, output_target, { target: elsewhere, text: await summarise(run, signal) });
}

/** By the kind of the output. `summary`: where the whole result goes, and what the others read. */
export function partsOf(
  run: Run,
  { kind, target }: SavedSkill['output_target'],
  summary: { readonly target: string; readonly text: string } | null = null,
): readonly Part[] {
  const { threadId, named } = run.origin;
  const whole = { text: run.output ?? '', target, threadId };
  switch (kind) {
    case 'webui_only':
      return [];
    case 'channel':
    case 'dm':
      return [whole];
    case 'thread': {
      const thread = named ?? threadId;
      return thread === null ? [whole] : [{ ...whole, target: '', threadId: thread }];
    }
    case 'channel_with_summary':
      if (summary === null) return [whole];
      return [
        { ...whole, target: summary.target, threadId: null },
        { ...whole, text: `${summary.text}\nAll of it is in ${summary.target}; or see: pith runs show ${run.id}` },
      ];
  }
}

/** `key` is that of one message: a channel that has delivered it delivers it no second time. A notice is said again after a crash before that is written. */
async function send(context: Context, run: Run, { key, text: result, target, threadId }: Part & { readonly key: string }): Promise<void> {
  const text = `${run.skill}: ${result}`;
  const about = { kind: 'run', id: run.id };
  if (target === '') {
    // Kept on disk until somebody opens a channel.
    const notice = { v: 1, text, kind: 'run', about, target: null, threadId, userId: run.actsAs } as const;
    await context.events.publish('notify', notice, { key: `saved_skills/${key}` });
    return;
  }
  const channel = channelFor(target, await channelsOf(context));
  await channel.deliver({ key, text, kind: 'run', about, userId: run.actsAs, ...(threadId === null ? {} : { threadId }) }, target);
}

/** The channels that there are, with their kinds: code of one that was not needed yet is loaded for that. One that cannot run is left out. */
export async function channelsOf(context: Pick<ExtensionContext, 'find'>): Promise<readonly Remote<ChannelProvider>[]> {
  const isKnown = ({ kinds }: Remote<ChannelProvider>): boolean => Array.isArray(kinds);
  const unknown = context.find(ChannelProvider).filter((channel) => !isKnown(channel));
  await Promise.all(unknown.map((channel) => channel.filters?.().catch(() => undefined))); // one without filters rejects, and is loaded
  return context.find(ChannelProvider).filter(isKnown);
}

/** What the channels call themselves in the turns that they begin. */
export async function channelNames(context: Pick<ExtensionContext, 'find'>): Promise<ReadonlySet<string>> {
  const found = await channelsOf(context);
  const given = await Promise.all(found.map(async (channel) => (await channel.filters?.().catch(() => null)) ?? [])); // one that fails adds none
  return new Set(['cli', ...found.flatMap(({ kinds }) => kinds), ...given.flat()]);
}

/** The kind of channel that a target is for: `pager` of `pager:ada`, `webhook` of an http address. */
export function kindOf(target: string): string {
  return /^https?:\/\//i.test(target) ? 'webhook' : (target.split(':', 1)[0] ?? target);
}

/** The one of these channels that delivers to a target. Throws `channel_unknown`. */
export function channelFor(target: string, channels: readonly Remote<ChannelProvider>[]): Remote<ChannelProvider> {
  const kind = kindOf(target);
  const channel = channels.find(({ kinds }) => kinds.includes(kind));
  if (channel !== undefined) return channel;
  const known = [...new Set(channels.flatMap(({ kinds }) => kinds))];
  throw new PithError('channel_unknown', `no channel here delivers to '${kind}'`, {
    cure: known.length === 0 ? 'switch on an extension that delivers messages' : `channels deliver to ${known.join(', ')}`,
  });
}
