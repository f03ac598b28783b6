import { type AgentSpec, type Diagnostic, messageOf, PithError } from '../../contract/index.ts';
import { didYouMean } from '@pith/plain-text';
import { deepFreeze, type AgentDeclaration, type DeclaredAgents } from '../../kernel/index.ts';
import { type BoundSkills, checkPrompt } from '../prompt/instructions.ts';
import { resolveTools, type ToolHost } from '../tools/tools.ts';

/** An agent and whether it can run now. `spec` is null only when its file is broken. */
export interface AgentStatus {
  readonly id: string;
  readonly spec: AgentSpec | null;
  /** `degraded` works without what `notes` name. */
  readonly state: 'active' | 'degraded' | 'failed';
  readonly notes: readonly Diagnostic[];
}

export interface AdmissionOptions {
  readonly host: ToolHost & { readonly agents: Pick<DeclaredAgents, 'checkKeys'> };
  /** The agents that there are, with those that extensions bring where one of `names` is not declared by a file. */
  readonly declarations: (names: readonly string[]) => Promise<readonly AgentDeclaration[]>;
  readonly skills: BoundSkills;
}

/** In `delegates_to`: every declared agent but itself. */
export const EVERY_AGENT = '*';

/** Every check that an agent passes before it runs, side by side: a plan of its turns without a turn. Never rejects. */
export async function admit(spec: AgentSpec, options: AdmissionOptions): Promise<AgentStatus> {
  const declarations = await options.declarations([
    ...(spec.origin === null ? [] : [spec.id]),
    ...spec.delegatesTo.filter((id) => id !== EVERY_AGENT),
  ]);
  const at = placesOf(spec, declarations);
  let { keys } = spec;
  const checks = await Promise.all([
    guarded('uses_tools and uses_skills', async () => {
      const [tools, skills] = await Promise.all([resolveTools(spec, options.host), options.skills.read(spec)]);
      const skillNotes = skills.flatMap(({ note }) => (note ? [note] : []));
      return [...tools.notes.map(at('uses_tools', spec.usesTools)), ...skillNotes.map(at('uses_skills', spec.usesSkills))];
    }),
    guarded('prompt', async () => (spec.prompt === null ? [] : checkPrompt(spec.prompt, spec.promptFile, spec.usesSkills))),
    guarded('agent keys', async () => {
      const found = await options.host.agents.checkKeys(spec);
      keys = found.keys;
      return found.notes;
    }),
  ]);
  const delegates = checkDelegates(spec, declarations).map(at('delegates_to', spec.delegatesTo));
  const notes = [...delegates, ...checks.flat()].map((note) => placed(note, spec));
  return { id: spec.id, spec: keys === spec.keys ? spec : deepFreeze({ ...spec, keys }), state: stateOf(notes), notes };
}

export function stateOf(notes: readonly Diagnostic[]): AgentStatus['state'] {
  if (notes.some(({ severity }) => severity === 'error')) return 'failed';
  return notes.some(({ severity }) => severity === 'warning') ? 'degraded' : 'active';
}

function checkDelegates(spec: AgentSpec, declarations: readonly AgentDeclaration[]): readonly Diagnostic[] {
  const ids = declarations.map(({ id }) => id);
  return spec.delegatesTo.flatMap((name): readonly Diagnostic[] => {
    if (name === EVERY_AGENT) return [];
    const target = declarations.find(({ id }) => id === name);
    if (target?.spec) return [];
    const error = target?.diagnostics.find(({ severity }) => severity === 'error');
    if (target)
      return [
        {
          severity: 'warning',
          code: 'agent_failed',
          message: `cannot delegate to '${name}': ${error ? reasonOf(error) : 'its declaration is broken'}`,
        },
      ];
    return [
      {
        severity: 'warning',
        code: 'name_unknown',
        message: `delegates_to '${name}': there is no such agent${didYouMean(name, ids)}`,
        cure: `correct the name, or add the agent '${name}'`,
      },
    ];
  });
}

/** A check that itself breaks costs the agent a line, not its life. */
async function guarded(what: string, check: () => Promise<readonly Diagnostic[]>): Promise<readonly Diagnostic[]> {
  try {
    return await check();
  } catch (error) {
    return [{ severity: 'warning', code: 'provider_failed', message: `${what} could not be checked: ${messageOf(error)}` }];
  }
}

/** Gives a note on one of `names` the line of that name in the agent's file. */
function placesOf(spec: AgentSpec, declarations: readonly AgentDeclaration[]) {
  const declared = declarations.find(({ id, file }) => id === spec.id && file === spec.origin);
  return (key: string, names: readonly string[]) =>
    (note: Diagnostic): Diagnostic => {
      if (note.line !== undefined || declared?.positions === undefined) return note;
      const index = names.findIndex((name) => note.message.includes(`'${name}'`));
      const [line, column] = declared.positions[`agent.${key}.${index}`] ?? declared.positions[`agent.${key}`] ?? [];
      return line === undefined ? note : { ...note, file: declared.file, line, column };
    };
}

function placed(note: Diagnostic, spec: AgentSpec): Diagnostic {
  return note.file !== undefined || spec.origin === null ? note : { ...note, file: spec.origin };
}

/** Nothing declares it. */
export function unknownAgent(id: string, known: Iterable<string>): PithError {
  return new PithError('agent_unknown', `there is no agent '${id}'${didYouMean(id, known)}`, { where: id, cure: "see 'pith agents list'" });
}

/** It is declared and cannot run. */
export function failedAgent({ id, notes }: AgentStatus): PithError {
  const errors = notes.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (errors.length > 1) {
    const reasons = errors.map((each, index) => `(${index + 1}) ${reasonOf(each)}`).join(' ');
    return new PithError('agent_failed', `the agent '${id}' cannot run: ${reasons}`);
  }
  return new PithError('agent_failed', `the agent '${id}' cannot run: ${first?.message ?? 'its declaration is broken'}`, {
    where: first && placeOf(first),
    cure: first === undefined ? `see 'pith doctor' for ${id}` : (first.cure ?? 'correct it there'),
  });
}

function reasonOf(finding: Diagnostic): string {
  const place = placeOf(finding);
  return `${finding.message}${place === undefined ? '' : ` (${place})`}${finding.cure === undefined ? '' : `; ${finding.cure}`}`;
}

function placeOf({ file, line }: Diagnostic): string | undefined {
  return file === undefined || line === undefined ? file : `${file}:${line}`;
}
