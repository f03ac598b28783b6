import {
  type ApprovalQuestion,
  defineTool,
  type ExtensionContext,
  type Logger,
  messageOf,
  Places,
  type Tool,
  type TurnInfo,
  z,
} from 'pith';
import { createConfinedPrograms } from '@pith/supervised-process';
import { once } from '@pith/promises';
import { stateFolder } from '@pith/safe-files';
import { copySkill } from '@pith/skill-files';
import { SkillDrafts, type SkillLibrary, type SkillRecord, skillUsed } from 'pith/skill_registry';
import { printableLine } from '@pith/plain-text';
import type { ScriptsConfig } from '../config.ts';
import { presentScript, scriptError } from './results.ts';
import { type Confinement, confinementOf, refusalOf, runScript, type ScriptPorts } from './run-script.ts';
import { findScript, passedNames, type ScriptFile, subjectOf } from './script-file.ts';

/** Copies, checks and starts what is to run, beside the script's own time. */
const MARGIN_MS = 15_000;

/** Whether a person sits at a terminal from which a turn comes. Turns of other channels, such as of a web page, come from elsewhere. */
function isAtTerminal({ channelId }: Pick<TurnInfo, 'channelId'>): boolean {
  return ['cli', 'none'].includes(channelId) && process.stdin.isTTY === true && process.stdout.isTTY === true;
}

/** `run_skill_script`: for agents that name it. */
export function scriptTool(context: ExtensionContext<ScriptsConfig>, library: Pick<SkillLibrary, 'find' | 'isTrusted'>): Tool {
  const settings = context.config.scripts;
  const warn = unconfinedWarning(context);
  const confined = once(() => {
    const made = createConfinedPrograms();
    context.own(() => made.close());
    return made;
  });
  const ports = (): ScriptPorts => ({
    settings,
    confined: confined(),
    getSecret: (name) => context.getSecret(name),
    places: context.use(Places),
    copies: stateFolder(context.dataDirectory, 'scripts'),
    now: () => context.clock.now(),
  });
  return defineTool({
    name: 'run_skill_script',
    description:
      'Runs a script of a skill (a file under scripts/) in the folder of the skill and returns what it prints. A person may be asked first. Read the skill before: it says which script does what.',
    input: z.object({
      skill_id: z.string(),
      script: z.string().describe("Relative to the skill's folder: scripts/check.py."),
      args: z.array(z.string()).default([]).describe('Arguments, each as it is: no shell reads them.'),
    }),
    effect: 'write',
    permission: { authoring: 'admin', safeToShare: false },
    optIn: true,
    timeoutMs: settings.timeout_s * 1000 + MARGIN_MS,
    /** False where there is nothing to agree to, or nobody to ask: the call refuses that by itself. */
    needsApproval: async ({ skill_id, script, args }, turn) => {
      const found = await library.find(skill_id, turn); // nobody is asked about a skill that the agent may not see
      if (!('skill' in found) || found.skill.state !== 'offered' || refusalOf(settings, args) !== null) return false;
      const confinement = await confinementOf(ports());
      if (confinement.by === 'nothing' ? !isAtTerminal(turn) : settings.approval === 'never') return false;
      const file = await fileOf(found.skill, script, context.logger);
      return file === null ? false : questionOf(found.skill, { script: file, args }, settings, confinement);
    },
    present: presentScript,
    async execute({ skill_id, script, args }, call) {
      const found = await library.find(skill_id, call.turn);
      if (!('skill' in found)) return scriptError(found.error.code, found.error.message);
      const { skill } = found;
      if (skill.state !== 'offered')
        return scriptError(
          'skill_not_offered',
          printableLine(`Scripts of '${printableLine(skill.id)}' are not run: ${skill.reason ?? skill.state}.`),
        );
      if (settings.sandbox === 'none') warn(call.turn);
      if ((await confinementOf(ports())).by !== 'bubblewrap')
        await context
          .find(SkillDrafts)[0]
          ?.unconfined(`the script ${printableLine(script)} of the skill '${printableLine(skill.id)}'`, call.turn);
      const { result, ran } = await runScript(ports(), skill, {
        script,
        args,
        approved: call.approved,
        isTrusted: (copied) => {
          const files = [...copied].map(([path, file]) => ({ path, ...file }));
          return library.isTrusted(`${skill.source}/${skill.id}`, files);
        },
        signal: call.signal,
      });
      if (ran !== null) {
        const { id: turnId, threadId, agent, correlationId } = call.turn;
        context.events.publish(skillUsed, {
          turnId,
          threadId,
          agentId: agent.id,
          skillId: skill.id,
          state: 'script_run',
          ...ran,
          correlationId,
        });
      }
      return result;
    },
  });
}

/** null where there is no such script, or the skill cannot be read: the call says which. */
async function fileOf(skill: SkillRecord, given: string, logger: Logger): Promise<ScriptFile | null> {
  try {
    const digests = await copySkill(skill.realDirectory, null);
    return digests === null ? null : findScript(skill, given, digests);
  } catch (error) {
    logger.debug(`nobody is asked about a script of '${printableLine(skill.id)}', which cannot be read: ${messageOf(error)}`);
    return null;
  }
}

type Settings = ScriptsConfig['scripts'];

/** What a person reads before a script runs, and what their yes is for. An `always` is for the script as it is, whatever its arguments. */
function questionOf(
  skill: SkillRecord,
  { script, args }: { readonly script: ScriptFile; readonly args: readonly string[] },
  settings: Settings,
  confinement: Confinement,
): ApprovalQuestion {
  const { path, sha256, others, allSha256, declared } = script;
  const names = passedNames(script, settings);
  const kept = (declared?.env ?? []).filter((name) => !names.includes(name));
  const called = printableLine(`${path} of the skill '${printableLine(skill.id)}'`);
  const text = [
    args.length === 0 ? 'without arguments' : printableLine(`with the arguments ${args.map((each) => JSON.stringify(each)).join(' ')}`),
    printableLine(`${path} is in ${skill.realDirectory} (${skill.source})`),
    ...(declared?.description ? [printableLine(`which says: ${declared.description}`)] : []),
    `sha256 ${sha256}`,
    ...(others === 0 ? [] : [`with ${others} other ${others === 1 ? 'file' : 'files'} of the skill, all together sha256 ${allSha256}`]),
    ...(names.length === 0 ? [] : [`with ${names.join(', ')} of your environment`]),
    ...(kept.length === 0 ? [] : [`without ${printableLine(kept.join(', '))}, which it asks for and skills.scripts.env does not list`]),
    'a yes is for all of this as it is now',
  ].join('\n');
  const subject = subjectOf(skill, script, { ...settings, confinedBy: confinement.by });
  return {
    summary: `run ${called}`,
    text,
    enforced: enforcedBy(confinement),
    subject,
    always: { key: `script:${subject}`, covers: `${called} as it is now, with any arguments` },
  };
}

function enforcedBy(confinement: Confinement): string {
  if (confinement.by === 'bubblewrap') return 'sandboxed: no network, no files but those of the skill, which it can only read';
  const why = confinement.by === 'settings' ? 'skills.scripts.sandbox: none' : `${confinement.why}; ${confinement.cure}`;
  return `not sandboxed: it sees and can change what you can (${why})`;
}

const WHAT = 'scripts of skills run without a sandbox (skills.scripts.sandbox: none): they can do all that you can';

/** What `pith doctor` says, in red, where a person chose to run scripts without a sandbox. */
export function unconfinedNotes({ scripts }: ScriptsConfig): readonly { readonly code: string; readonly message: string }[] {
  return scripts.sandbox === 'none' ? [{ code: 'unconfined', message: WHAT }] : [];
}

/** Warns the person in the conversation, the first time that a script runs. */
export function unconfinedWarning({ events, id, logger }: Pick<ExtensionContext, 'events' | 'id' | 'logger'>): (turn: TurnInfo) => void {
  let isWarned = false;
  return ({ threadId, userId }) => {
    if (isWarned) return;
    isWarned = true;
    const about = { kind: 'extension', id };
    const notice = { v: 1, text: `Warning: ${WHAT}.`, kind: 'warning', about, target: null, threadId, userId } as const;
    events
      .publish('notify', notice, { key: threadId })
      .catch((error: unknown) => logger.warn(`${WHAT}; the warning could not be sent: ${messageOf(error)}`));
  };
}
