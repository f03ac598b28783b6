import type { z } from 'pith';
import { localTime } from '@pith/command-line';
import { counted, printable } from '@pith/plain-text';
import { referenceOf, type SavedSkill } from '../domain/saved-skill.ts';
import { usageOf } from '../domain/inputs.ts';
import { toolNameOf } from '../library/tool-names.ts';
import type { runResult, savedResult, versionResult } from './results.ts';
import { kindOf } from '../runs/deliveries.ts';
import { type Run, threadOf } from '../runs/run.ts';
import type { SkillVersion } from '../store/skill-store.ts';

/** Nobody is shown these: who needs the address of a webhook asks for it. */
const SECRETS: readonly string[] = ['webhook_secret', 'webhook_signing_key'];

/** Whoever knows the path of a webhook may often send to it. */
function shownTarget({ output_target: { target } }: SavedSkill): string {
  if (kindOf(target) !== 'webhook') return target;
  return URL.canParse(target) ? `${new URL(target).origin}/…` : 'https://…';
}

/** A skill as `--json` prints it. */
export function skillJson(skill: SavedSkill): z.infer<ReturnType<typeof savedResult>> {
  const open = Object.entries(skill).filter(([key]) => !SECRETS.includes(key));
  const { kind } = skill.output_target;
  const output_target = { kind, target: shownTarget(skill) };
  return {
    ...(Object.fromEntries(open) as Omit<SavedSkill, 'webhook_secret' | 'webhook_signing_key'>),
    output_target,
    webhook_enabled: skill.webhook_secret !== null,
  };
}

export function versionJson({ id, number, version, authoredBy, createdAt }: SkillVersion): z.infer<ReturnType<typeof versionResult>> {
  return { id, number, version, authored_by: authoredBy, created_at: createdAt };
}

export function runJson(run: Run): z.infer<ReturnType<typeof runResult>> {
  return {
    id: run.id,
    skill: run.skill,
    version: run.version,
    state: run.state,
    user: run.userId,
    cause: run.cause,
    inputs: run.inputs,
    lane: run.lane,
    priority: run.priority,
    attempt: run.attempt,
    queued_at: run.queuedAt,
    started_at: run.startedAt,
    ended_at: run.endedAt,
    wait_ms: run.startedAt === null ? null : run.startedAt - run.queuedAt,
    steps: run.steps,
    tool_calls: run.toolCalls,
    usage: { ...run.usage },
    status: run.statusLine,
    output: run.output,
    ...(run.sealed === null ? {} : { sealed: run.sealed }),
    error: run.error === null ? null : { ...run.error },
    extensions: run.extensions,
    delivery: run.delivery,
    delivery_error: run.deliveryError,
    pinned: run.pinned,
    parent: run.parentId,
    thread: threadOf(run.id),
  };
}

function line(name: string, value: string): readonly string[] {
  return value === '' ? [] : [`${`${name}:`.padEnd(14)}${printable(value)}`];
}

function webhookText(skill: SavedSkill): string {
  if (skill.webhook_secret === null) return '';
  const signed = skill.webhook_signature_required ? 'signed requests' : 'requests without a signature';
  return skill.webhook_ip_allowlist.trim() === '' ? signed : `${signed} from ${skill.webhook_ip_allowlist.trim().split('\n').join(', ')}`;
}

/** All that a person wants to know of one skill; `successor`: what took its place, where it is retired. */
export function skillText(skill: SavedSkill, versions: readonly SkillVersion[], successor: string | null): string {
  const pinned = versions.find(({ id }) => id === skill.pinned_version_id);
  const bounds = [
    skill.max_iterations === 0 ? '' : `${skill.max_iterations} iterations`,
    skill.max_tool_calls === 0 ? '' : `${skill.max_tool_calls} tool calls`,
    skill.max_runtime === '0s' ? '' : skill.max_runtime,
  ].filter(Boolean);
  return [
    `${referenceOf(skill)} ${skill.version}${skill.source === 'builtin' ? ' (ships)' : ''}${successor === null ? '' : ` (retired: use ${successor})`}`,
    ...line('What it does', skill.description),
    ...line('Inputs', usageOf(skill.input_schema)),
    ...line('Visibility', skill.visibility === 'shared' ? `shared with ${skill.shared_with.join(', ') || 'nobody'}` : skill.visibility),
    ...line('Pinned', pinned === undefined ? '' : `version ${pinned.version} by ${skill.pinned_by ?? ''}`),
    ...line('Model', skill.model_tier),
    ...line('Tools', skill.tools.join(', ')),
    ...line('Skills', skill.uses_skills.join(', ')),
    ...line('Limits', bounds.join(', ')),
    ...line('Output', `${skill.output_target.kind}${skill.output_target.target === '' ? '' : ` to ${shownTarget(skill)}`}`),
    ...line(
      'Schedule',
      skill.schedule === null
        ? ''
        : `${skill.schedule}${skill.time_zone === null ? '' : ` in ${skill.time_zone}`}, next ${skill.next_run_at === null ? 'never' : localTime(skill.next_run_at)}`,
    ),
    ...line('Lane', skill.execution_lane),
    ...line('Priority', skill.default_priority === 0 ? '' : String(skill.default_priority)),
    ...line('Preemptible', skill.preemptible ? 'yes: a more urgent run may end its runs' : ''),
    ...line('Tool', skill.expose_as_chatbot_tool ? toolNameOf(skill) : ''),
    ...line('Webhook', webhookText(skill)),
    ...line('Encryption', skill.encryption_enabled ? 'on' : ''),
    ...line('Tags', skill.tags.join(', ')),
    '',
    printable(skill.system_prompt),
  ].join('\n');
}

export function runText(run: Run, steps: readonly { readonly at: number; readonly what: string }[]): string {
  const took = run.startedAt === null || run.endedAt === null ? '' : `${Math.round((run.endedAt - run.startedAt) / 100) / 10} s`;
  const inputs = Object.entries(run.inputs).map(([name, value]) => `${name}=${String(value)}`);
  return [
    `Run ${run.id} of ${run.skill} ${run.version}${run.pinned ? ' (pinned)' : ''} is ${run.state}`,
    ...line('Asked by', `${run.userId} (${run.cause})`),
    ...line('Inputs', inputs.join(', ')),
    ...line('Lane', `${run.lane}, priority ${run.priority}`),
    ...line('Queued', localTime(run.queuedAt)),
    ...line('Took', took),
    ...line(
      'Used',
      `${counted(run.steps, 'step')}, ${counted(run.toolCalls, 'tool call')}, ${run.usage.inputTokens + run.usage.outputTokens} tokens`,
    ),
    ...line('Attempts', run.attempt > 1 ? String(run.attempt) : ''),
    ...line('Delivery', run.delivery === 'none' ? '' : `${run.delivery}${run.deliveryError === null ? '' : `: ${run.deliveryError}`}`),
    ...line('Conversation', `pith threads show runs/${run.id}`),
    ...(steps.length === 0 ? [] : ['', ...steps.map(({ what }) => `  ${printable(what)}`)]),
    ...(run.error === null ? [] : ['', `${run.error.code}: ${printable(run.error.message)}`]),
    ...(run.sealed === null ? [] : ['', `The result is encrypted: ${printable(run.sealed)}`]),
    ...(run.output === null ? [] : ['', printable(run.output)]),
  ].join('\n');
}
