import {
  defineTool,
  isToolResult,
  z,
  type ApprovalQuestion,
  type ExtensionContext,
  type Tool,
  type ToolCall,
  type ToolResult,
  type TurnInfo,
  Places,
} from 'pith';
import { createConfinedPrograms } from '@pith/held-process';
import { once } from '@pith/promises';
import { stateFolder } from '@pith/safe-files';
import type { SkillsConfig } from '../config.ts';
import type { SkillUse } from '../ledger/skill-use.ts';
import { presentsScript } from '../reading/result-lines.ts';
import { skillError } from '../reading/results.ts';
import { lateInput } from '../late-input.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { refusalOf, runScript, type ScriptPorts } from './run-script.ts';
import { findScript, passedNames, subjectOf, type ScriptFile } from './script-file.ts';
import { digestSkill } from './skill-copy.ts';
import { unconfinedWarning } from './unconfined.ts';

export interface RegistryPorts {
  /** The skills as they are now. */
  current(): Promise<Snapshot>;
  /** The skill that the turn's agent may see; what it may not see nobody is asked about. */
  readable(snapshot: Snapshot, turn: TurnInfo, name: string): Skill | undefined;
  /** The skill that an agent may use now, or the error that says what to do instead. */
  usable(name: string, call: ToolCall): Promise<Skill | ToolResult>;
  /** False when the skill is no longer what was trusted. */
  isStillTrusted(skill: Skill): Promise<boolean>;
  record(turn: ToolCall['turn'], use: SkillUse): void;
}

/** Copies, checks and starts what is to run, beside the script's own time. */
const MARGIN_MS = 15_000;

/** `run_skill_script`: for agents that name it. */
export function scriptToolOf(context: ExtensionContext<SkillsConfig>, registry: RegistryPorts): Tool {
  const settings = context.config.scripts;
  const warn = unconfinedWarning(context);
  const programs = once(() => {
    const confined = createConfinedPrograms({ dataDirectory: context.dataDirectory });
    context.own(() => confined.close());
    return confined;
  });
  const ports = (): ScriptPorts => ({
    settings,
    confined: programs(),
    getSecret: (name) => context.getSecret(name),
    places: context.use(Places),
    copies: stateFolder(context.dataDirectory, 'scripts'),
    now: () => context.clock.now(),
  });
  return defineTool({
    name: 'run_skill_script',
    description:
      'Runs a script of a skill (a file under scripts/) in the folder of the skill, which it can only read, and returns what it prints. A person may be asked first. Read the skill before: it says which script does what, with which arguments.',
    input: lateInput(
      () =>
        z.object({
          skill_id: z.string(),
          script: z.string().describe("Relative to the skill's folder: scripts/check.py."),
          args: z.array(z.string()).default([]).describe('Arguments, each as it is: no shell reads them.'),
        }),
      () => null,
    ),
    effect: 'write',
    optIn: true,
    timeoutMs: settings.timeout_s * 1000 + MARGIN_MS,
    needsApproval: async ({ skill_id, script, args }, turn) =>
      settings.approval === 'never' ? false : ask(registry, settings, { id: skill_id, given: script, args }, turn),
    present: presentsScript('run_skill_script'),
    async execute({ skill_id, script, args }, call) {
      const skill = await registry.usable(skill_id, call);
      if (isToolResult(skill)) return skill;
      if (skill.state !== 'offered')
        return skillError('skill_not_offered', `Scripts of '${skill.id}' are not run: ${skill.reason ?? skill.state}.`);
      if (settings.sandbox === 'none') warn(call.turn);
      const isStillTrusted = () => registry.isStillTrusted(skill);
      const { result, ran } = await runScript(ports(), skill, {
        script,
        args,
        approved: call.approved,
        isStillTrusted,
        signal: call.signal,
      });
      if (ran !== null) registry.record(call.turn, { skillId: skill.id, state: 'script_run', ...ran });
      return result;
    },
  });
}

/** False where there is nothing to agree to: the call refuses that by itself. */
async function ask(
  { current, readable }: RegistryPorts,
  settings: ScriptPorts['settings'],
  { id, given, args }: { readonly id: string; readonly given: string; readonly args: readonly string[] },
  turn: TurnInfo,
): Promise<ApprovalQuestion | false> {
  const skill = readable(await current(), turn, id);
  if (skill?.state !== 'offered' || refusalOf(settings, args) !== null) return false;
  const digests = await digestSkill(skill.realDirectory).catch(() => null);
  const script = digests === null ? null : findScript(skill, given, digests);
  return script === null ? false : questionOf(skill, script, settings);
}

type Settings = SkillsConfig['scripts'];

/** What a person reads before a script runs, and what their yes is for. The arguments stand in the input, so that an `always` holds for others too. */
function questionOf(skill: Skill, script: ScriptFile, settings: Settings): ApprovalQuestion {
  const { path, sha256, others, allSha256, declared } = script;
  const names = passedNames(script, settings);
  const text = [
    `runs ${path} of the skill '${skill.id}' (${skill.source}, ${skill.realDirectory})`,
    ...(declared?.description ? [`which says: ${declared.description}`] : []),
    `sha256 ${sha256}`,
    ...(others === 0 ? [] : [`with ${others} other ${others === 1 ? 'file' : 'files'} of the skill, all together sha256 ${allSha256}`]),
    ...(names.length === 0 ? [] : [`with ${names.join(', ')} of your environment`]),
    settings.sandbox === 'none'
      ? 'WITHOUT A SANDBOX (skills.scripts.sandbox: none): it can do all that you can'
      : 'in a sandbox: no network, no files but those of the skill, which it can only read',
    'a yes holds for all of this as it is now; always: for each time that this script is run in this conversation, with whatever arguments',
  ].join('\n');
  return { text, subject: subjectOf(skill, script, settings) };
}
