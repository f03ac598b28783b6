import { PithError } from 'pith';
import type {
  ActingUser,
  DueResult,
  ExposedCall,
  ExposedSkill,
  SavedSkills,
  StartedBy,
  WebhookChange,
  WebhookSettings,
} from './contract.ts';
import { inputJsonSchema, withoutNamesOfHost } from './domain/inputs.ts';
import { referenceOf, type SavedSkill } from './domain/saved-skill.ts';
import type { Library } from './library/library.ts';
import { exposedTools, isListedIn, toolNameOf } from './library/tool-names.ts';
import { partsDue } from './runs/deliveries.ts';
import { runOfThread } from './runs/run.ts';
import type { RunStore } from './runs/run-store.ts';
import type { Summarise } from './runs/summary.ts';
import { runExposed, toolDescriptionOf } from './skill-tools.ts';
import type { Runner } from './running/runner.ts';

/** What saved skills answer to other extensions. */
export class SavedForOthers implements SavedSkills {
  constructor(
    readonly library: Library,
    private readonly runs: RunStore,
    readonly runner: Runner,
    private readonly summarise: Summarise,
  ) {}

  async webhook(secret: string): Promise<WebhookSettings | null> {
    const found = await this.library.skills.byWebhook(secret);
    return found === null ? null : webhookOf(found.skill);
  }

  async changeWebhook(reference: string, by: ActingUser, change: WebhookChange) {
    const person = await this.library.person(by);
    const { signatureForced, signatureRequired } = change;
    if (signatureForced !== undefined && !person.isAdmin)
      throw new PithError('not_allowed', 'only an administrator forces signatures on or leaves them to the owner', { cure: 'ask one' });
    const changed = await this.library.govern(reference, person, 'edit', (skill) => {
      if (signatureRequired === false && skill.webhook_signature_forced && signatureForced !== false)
        throw new PithError('not_allowed', `an administrator requires signatures for '${referenceOf(skill)}'`, { cure: 'ask one' });
      const { secret, signingKey, ipAllowlist, legacySignature } = change;
      return {
        ...(secret === undefined ? {} : { webhook_secret: secret }),
        ...(signingKey === undefined ? {} : { webhook_signing_key: signingKey }),
        ...(signatureRequired === undefined ? {} : { webhook_signature_required: signatureRequired }),
        ...(signatureForced === undefined ? {} : { webhook_signature_forced: signatureForced }),
        ...(signatureForced === true ? { webhook_signature_required: true } : {}),
        ...(ipAllowlist === undefined ? {} : { webhook_ip_allowlist: ipAllowlist }),
        ...(legacySignature === undefined ? {} : { webhook_legacy_signature: legacySignature }),
      };
    });
    return { ...webhookOf(changed), secret: changed.webhook_secret };
  }

  async idOf(reference: string, by: ActingUser): Promise<string> {
    return (await this.library.find(reference, await this.library.person(by), 'edit')).skill.id;
  }

  async changeEncryption(reference: string, by: ActingUser, isOn: boolean): Promise<void> {
    const person = await this.library.person(by);
    await this.library.govern(reference, person, 'edit', () => ({ encryption_enabled: isOn }));
  }

  async startForOwner(skillId: string, started: StartedBy): Promise<boolean> {
    return this.library.startForOwner(skillId, started);
  }

  async exposed(by: ActingUser, channelId: string): Promise<readonly ExposedSkill[]> {
    if (!(await this.library.isUsed())) return [];
    const person = await this.library.person(by);
    const meant = exposedTools(await this.library.skills.exposed()).tools.filter((skill) => isListedIn(skill, channelId));
    return (await this.library.runnable(meant, person)).map(({ skill, inputs }) => ({
      tool: toolNameOf(skill),
      skill: referenceOf(skill),
      description: toolDescriptionOf(skill),
      inputSchema: inputJsonSchema(inputs),
    }));
  }

  async runExposed(skill: string, { by, channelId, threadId, inputs }: ExposedCall, signal = new AbortController().signal) {
    const person = await this.library.person(by);
    const origin = { channelId, threadId, message: null };
    return runExposed(this, { skill, inputs: withoutNamesOfHost(inputs), origin, person }, signal);
  }

  async dueResult(runId: string, target: string): Promise<DueResult | null> {
    const run = await this.runs.byId(runId.split('/', 1)[0] ?? '');
    if (run === null || run.delivery !== 'waiting' || run.endedAt === null) return null;
    const { skillId, skill, state, endedAt } = run;
    const { skills, context } = this.library;
    const parts = await partsDue({ skills, context, summarise: this.summarise }, run);
    const due = parts.find((part) => part.target === target);
    return due === undefined ? null : { skillId, skill, state, text: due.text, endedAt };
  }

  async skillOfThread(threadId: string): Promise<{ readonly skillId: string; readonly encrypts: boolean } | null> {
    const id = runOfThread(threadId);
    const run = id === null ? null : this.runner.held(id); // the name of a thread alone proves nothing: anybody may choose it
    const found = run === null ? null : await this.library.skills.byId(run.skillId);
    return found === null ? null : { skillId: found.skill.id, encrypts: found.skill.encryption_enabled };
  }
}

function webhookOf(skill: SavedSkill): WebhookSettings {
  return {
    skillId: skill.id,
    skill: referenceOf(skill),
    signingKey: skill.webhook_signing_key,
    signatureRequired: skill.webhook_signature_required,
    ipAllowlist: skill.webhook_ip_allowlist,
    legacySignature: skill.webhook_legacy_signature,
  };
}
