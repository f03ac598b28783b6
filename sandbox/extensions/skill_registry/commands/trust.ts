import { type Command, type CommandContext, type CommandIO, type ExtensionContext, type JsonValue, PithError } from 'pith';
import { needsPerson } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import type { SkillRegistry } from '../registry.ts';
import type { SkillFinding } from '../contract.ts';
import { type FolderTree, isProgram, realOf, withContents } from '@pith/skill-files';
import type { Skill } from '../skill.ts';
import { findingsIn } from '../trust/findings-in.ts';
import { folderOf } from '../trust/trust.ts';
import type { TrustedTree } from '../trust/trust-file.ts';
import { trustedWithoutAsking, trustTarget, type TrustTarget } from './wanted.ts';

/** So many findings of one skill are printed; `--json` has all. */
const SHOWN = 20;
const UNSCANNED = 'Nothing was scanned, because no extension that scans skills is on';

export function trust(context: ExtensionContext, registry: SkillRegistry): Command {
  const command: Command = {
    path: 'skills trust',
    needsTrust: true,
    description: 'Show what the skills of a source contain, and trust them',
    arguments: [{ name: 'source', description: 'as skills list shows it, or source/id for one skill', required: true }],
    async run(input, io) {
      const snapshot = await registry.refreshIfOlderThan(0);
      const target = trustTarget(registry, snapshot, String(input.arguments['source']));
      if (target.source.trusted) {
        io.json({ source: target.source.label, trusted: [] });
        io.print(`The skills of ${printableLine(target.source.label)} are trusted: ${trustedWithoutAsking(target.source)}.`);
        return 0;
      }
      const { looked, unread } = await lookAt(registry, target, (directory) => findingsIn(context, directory));
      print(target, looked, unread, io);
      const wanted = looked.length > 0 && (await isWanted(looked, io));
      if (wanted) await record(registry, target, looked, context);
      if (wanted) registry.outdated();
      const { label, directory } = target.source;
      io.json({ source: label, path: directory, trusted: wanted ? looked.map(idOf) : [], skills: looked.map(json) });
      if (wanted) io.print(`Trusted: ${looked.length === 1 ? '1 skill' : `${looked.length} skills`} of ${printableLine(label)}.`);
      return wanted ? 0 : 1;
    },
  };
  return needsPerson<CommandIO, Command>(command, (message, options) => new PithError('confirmation_needed', message, options));
}

export function untrust(context: ExtensionContext, registry: SkillRegistry): Command {
  return {
    path: 'skills untrust',
    description: 'Stop trusting the skills of a source',
    arguments: [{ name: 'source', description: 'as skills list shows it, or source/id for one skill', required: true }],
    async run(input, io) {
      const snapshot = await registry.refreshIfOlderThan(0);
      const { source, skill } = trustTarget(registry, snapshot, String(input.arguments['source']));
      if (source.trusted)
        throw new PithError(
          'not_allowed',
          `the skills of ${printableLine(source.label)} are always trusted: ${trustedWithoutAsking(source)}`,
          {
            cure: 'list them under skills.disabled, or leave the source out with skills.sources',
          },
        );
      await registry.trust.store.file.change(realOf(source.directory) ?? source.directory, context.clock, (recorded) => {
        const before = recorded ?? registry.trust.sourceRecord(source);
        const skills = new Map(skill === null ? [] : before?.skills);
        if (skill !== null && before?.whole === true) {
          skills.set(folderOf(source, skill.directory), { tree: '', risk: '', stats: '', refused: true }); // its neighbours stay as they are
          return { ...before, skills };
        }
        if (skill !== null) skills.delete(folderOf(source, skill.directory));
        // What is left keeps the project's trust from counting again.
        if (skills.size === 0 && source.trustedWithProject !== true) return null;
        return { at: before?.at ?? new Date(context.clock.now()).toISOString(), whole: false, withProject: false, skills };
      });
      await registry.versions.forget(source.label, skill?.id ?? null);
      registry.outdated();
      const what = skill === null ? source.label : `${source.label}/${skill.id}`;
      io.json({ source: source.label, untrusted: what });
      io.print(`No longer trusted: ${printableLine(what)}.`);
    },
  };
}

interface Looked {
  readonly skill: Skill;
  readonly trusted: TrustedTree;
  readonly tree: FolderTree;
  readonly findings: readonly SkillFinding[];
  /** False: no extension that scans is on. */
  readonly isScanned: boolean;
}

/** Every skill as it is now. Throws when one changes while it is looked at: what is shown is what will be recorded. */
async function lookAt(
  registry: SkillRegistry,
  { source, skills }: TrustTarget,
  scan: (directory: string) => Promise<readonly SkillFinding[] | null>,
): Promise<{ readonly looked: readonly Looked[]; readonly unread: readonly string[] }> {
  const looked: Looked[] = [];
  const unread: string[] = [];
  for (const skill of skills) {
    const subject = { ...skill, declared: skill };
    const before = await registry.trust.look(source, subject).catch((error: unknown) => void unread.push(`${skill.id}: ${String(error)}`));
    if (before === undefined) continue;
    const findings = await scan(skill.realDirectory);
    const { tree, trusted } = await registry.trust.look(source, subject);
    const file = tree.tree.entries.find(({ path }) => skill.file.endsWith(`/${path}`));
    if (trusted.tree !== before.trusted.tree || tree.stats !== before.tree.stats || file === undefined || file.stamp !== skill.stamp)
      throw new PithError('not_allowed', `skill '${printableLine(skill.id)}' changed while it was looked at`, {
        where: skill.file,
        cure: 'try again',
      });
    const read = await withContents(tree.tree); // a person sees too what only begins as a script
    looked.push({ skill, trusted, tree: read, findings: findings ?? [], isScanned: findings !== null });
  }
  return { looked, unread };
}

/** What lies there, whoever scans it. */
function contentsOf({ skill: { toolsets }, tree }: Looked) {
  return {
    files: tree.files.map(({ path, size }) => ({ path, size })),
    links: tree.links.map(({ path, target }) => ({ path, target })),
    scripts: tree.files.filter(isProgram).map(({ path }) => path),
    toolsets: [...toolsets],
  };
}

async function isWanted(looked: readonly Looked[], io: CommandIO): Promise<boolean> {
  const question = `Trust ${looked.length === 1 ? 'this skill' : `these ${looked.length} skills`}?`;
  if (io.interactive && !io.wantsJson) return (await io.ask(question, { choices: ['yes', 'no'] })) === 'yes';
  if (looked.some(({ isScanned }) => !isScanned)) {
    io.error(`pith: nothing was trusted: ${UNSCANNED.replace('N', 'n')}; run it in a terminal and look at them`);
    return false;
  }
  const serious = looked.filter(({ findings }) => findings.some(({ severity }) => severity === 'high'));
  if (serious.length === 0) return true;
  io.error(
    `pith: nothing was trusted: ${printableLine(serious.map(idOf).join(', '))} ${serious.length === 1 ? 'has' : 'have'} findings of severity high; run it in a terminal and look at them`,
  );
  return false;
}

async function record(registry: SkillRegistry, target: TrustTarget, looked: readonly Looked[], { clock }: CommandContext): Promise<void> {
  const { source, skill } = target;
  await registry.trust.store.file.change(realOf(source.directory) ?? source.directory, clock, (recorded) => {
    const before = recorded ?? registry.trust.sourceRecord(source);
    return {
      whole: skill === null || before?.whole === true,
      withProject: skill !== null && before?.withProject === true,
      at: new Date(clock.now()).toISOString(),
      skills: new Map([
        ...(skill === null ? [] : (before?.skills ?? [])),
        ...looked.map((one): [string, TrustedTree] => [folderOf(source, one.skill.directory), one.trusted]),
      ]),
    };
  });
}

function print({ source, left }: TrustTarget, looked: readonly Looked[], unread: readonly string[], io: CommandIO): void {
  io.print(printableLine(`${source.label}: ${source.directory}`));
  for (const one of looked) {
    const { skill, findings } = one;
    const { files, links, scripts, toolsets } = contentsOf(one);
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    io.print(
      `\n${printableLine(`${skill.id}: ${files.length} ${files.length === 1 ? 'file' : 'files'}, ${bytes} bytes${skill.reason === null ? '' : `; ${skill.reason}`}`)}`,
    );
    for (const path of scripts) io.print(`  script   ${printableLine(path)}`);
    for (const toolset of toolsets) io.print(`  toolset  ${printableLine(toolset)}`);
    for (const { path, target } of links) io.print(`  link     ${printableLine(path)} to ${printableLine(target)}`);
    for (const { severity, file, line, message } of findings.slice(0, SHOWN))
      io.print(`  ${severity.padEnd(7)}  ${printableLine(`${file}:${line}: ${message}`)}`);
    if (findings.length > SHOWN) io.print(`  and ${findings.length - SHOWN} more findings: see --json`);
  }
  if (looked.some(({ isScanned }) => !isScanned)) io.print(`\n${UNSCANNED}.`);
  for (const line of unread) io.print(`\n${printableLine(line)}: not trusted`);
  if (left > 0) io.print(`\n${left} invalid: not trusted; see pith skills list --all`);
}

function idOf({ skill }: Looked): string {
  return skill.id;
}

function json(one: Looked): JsonValue {
  const { skill, isScanned, trusted } = one;
  const findings = one.findings.map((each) => ({ ...each }));
  return { id: skill.id, path: skill.file, tree: trusted.tree, scanned: isScanned, ...contentsOf(one), findings };
}
