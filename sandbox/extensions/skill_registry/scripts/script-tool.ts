import { type ApprovalQuestion, defineTool, isToolResult, Places, type Tool, type TurnInfo, z } from 'pith';
import { createConfinedPrograms } from '@pith/held-process';
import { once } from '@pith/promises';
import { stateFolder } from '@pith/safe-files';
import type { SkillsConfig } from '../config.ts';
import { findReadable } from '../catalog/scope.ts';
import { skillFor, type ToolPorts } from '../reading/read-skill.ts';
import { presentsScript, skillError } from '../reading/results.ts';
import { lateInput } from '../late-input.ts';
import type { Skill } from '../skill.ts';
import { refusalOf, runScript, type ScriptPorts } from './run-script.ts';
import { copySkill, findScript, passedNames, type ScriptFile, subjectOf } from './skill-copy.ts';
import { unconfinedWarning } from './unconfined.ts';

/** Copies, checks and starts what is to run, beside the script's own time. */
const MARGIN_MS = 15_000;

/** `run_skill_script`: for agents that name it. */
export function scriptTool(ports: ToolPorts): Tool {
  const { context, registry, ledger } = ports;
  const settings = context.config.scripts;
  const warn = unconfinedWarning(context);
  const programs = once(() => {
    const confined = createConfinedPrograms({ dataDirectory: context.dataDirectory });
    context.own(() => confined.close());
    return confined;
  });
  const scripts = (): ScriptPorts => ({
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
    input: lateInput(() =>
      z.object({
        skill_id: z.string(),
        script: z.string().describe("Relative to the skill's folder: scripts/check.py."),
        args: z.array(z.string()).default([]).describe('Arguments, each as it is: no shell reads them.'),
      }),
    ),
    effect: 'write',
    optIn: true,
    timeoutMs: settings.timeout_s * 1000 + MARGIN_MS,
    needsApproval: async ({ skill_id, script, args }, turn) =>
      settings.approval === 'never' ? false : ask(ports, settings, { id: skill_id, given: script, args }, turn),
    present: presentsScript('run_skill_script'),
    async execute({ skill_id, script, args }, call) {
      const skill = await skillFor(ports, skill_id, call);
      if (isToolResult(skill)) return skill;
      if (skill.state !== 'offered')
        return skillError('skill_not_offered', `Scripts of '${skill.id}' are not run: ${skill.reason ?? skill.state}.`);
      if (settings.sandbox === 'none') warn(call.turn);
      const isStillTrusted = () => registry.isStillTrusted(skill);
      const { result, ran } = await runScript(scripts(), skill, {
        script,
        args,
        approved: call.approved,
        isStillTrusted,
        signal: call.signal,
      });
      if (ran !== null) ledger.record(call.turn, { skillId: skill.id, state: 'script_run', ...ran });
      return result;
    },
  });
}

/** False where there is nothing to agree to: the call refuses that by itself. */
async function ask(
  { registry, cache }: ToolPorts,
  settings: ScriptPorts['settings'],
  { id, given, args }: { readonly id: string; readonly given: string; readonly args: readonly string[] },
  turn: TurnInfo,
): Promise<ApprovalQuestion | false> {
  const snapshot = await registry.fresh();
  const skill = findReadable(snapshot, cache.scope(snapshot, turn.agent), id.trim()); // what it may not see nobody is asked about
  if (skill?.state !== 'offered' || refusalOf(settings, args) !== null) return false;
  const digests = await copySkill(skill.realDirectory, null).catch(() => null);
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
