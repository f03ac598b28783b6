import { AgentProvider, type AgentSpec, type Diagnostic } from '../../contract/index.ts';
import { DEFAULT_LIMITS } from '../../trust/index.ts';
import { deepFreeze, isPlainMap } from '../records/plain-data.ts';
import { toJsonValue } from '../calls/json-value.ts';
import type { Declaration, Discovery } from '../discovery/declaration.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Slot } from '../lifecycle/actor.ts';
import { canRun, type FoundAgent } from '../records/extensions-port.ts';
import { remoteOf } from './handle.ts';

const MOST_AGENTS = 1000;
const ID = /^[a-z][a-z0-9_-]{0,62}$/u;
const TEXTS = ['name', 'description', 'model', 'instructions'] as const;
const LISTS = ['usesTools', 'usesSkills', 'delegatesTo'] as const;
const LIMITS: readonly (keyof AgentSpec['limits'])[] = ['max_turns', 'max_tool_calls', 'max_tokens', 'time_budget_ms'];

/**
 * The agents that extensions bring, of two of one id the first, those of what ships first. Loads only providers that name no files, or whose
 * files are there. What a provider answers wrongly costs its own agents. Never rejects.
 */
export async function broughtAgents(lifecycle: Lifecycle, { declarations }: Discovery): Promise<readonly FoundAgent[]> {
  const unread = [...declarations.values()].filter((each) => each.readBy !== undefined && lifecycle.runtime.rights.configOf(each).enabled);
  const filesOf = ({ id }: Slot) => unread.filter(({ readBy }) => readBy === id);
  const providers = [...lifecycle.slots.values()]
    .filter(({ declaration: { manifest } }) => manifest?.provides.includes(AgentProvider.id))
    .filter((slot) => slot.pending || canRun(lifecycle.stateOf(slot)))
    .filter((slot) => slot.declaration.manifest?.agent_files.length === 0 || filesOf(slot).length > 0)
    .sort((a, b) => Number(b.declaration.shipped) - Number(a.declaration.shipped) || (a.id < b.id ? -1 : 1));
  const answers = await Promise.all(providers.map(async (slot) => ({ slot, agents: await answerOf(lifecycle, slot, filesOf(slot)) })));
  const found = new Map<string, FoundAgent>();
  for (const { slot, agents } of answers)
    for (const each of agents) {
      const declared = declarations.get(each.id);
      const isFree = declared === undefined || (declared.readBy === slot.id && declared.file === each.file);
      if (isFree && !found.has(each.id)) found.set(each.id, each);
      else
        lifecycle.note(
          slot.id,
          `brings the agent '${each.id}', which ${declared?.file ?? found.get(each.id)?.file} declares`,
          'duplicate_id',
        );
    }
  for (const each of unread) if (!found.has(each.id)) found.set(each.id, unanswered(lifecycle, each));
  return [...found.values()];
}

async function answerOf(lifecycle: Lifecycle, slot: Slot, files: readonly Declaration[]): Promise<readonly FoundAgent[]> {
  try {
    await lifecycle.ready(slot);
    const answer: unknown = await remoteOf(lifecycle, slot.id, AgentProvider).listAgents(files.map(({ file }) => file));
    const given = Array.isArray(answer) && answer.length <= MOST_AGENTS ? answer : [null];
    const agents = given.flatMap((each: unknown) => checked(lifecycle, slot, each, files) ?? []);
    if (agents.length < given.length)
      lifecycle.note(slot.id, 'listAgents gave what is no { id, spec, diagnostics, file }; it is left out', 'provider_failed');
    return agents;
  } catch {
    return []; // recorded
  }
}

/** null: it is none. What it says about where it comes from does not count. */
function checked(lifecycle: Lifecycle, slot: Slot, value: unknown, files: readonly Declaration[]): FoundAgent | null {
  const { id, spec, diagnostics, file, positions } = fieldsOf(value);
  if (typeof id !== 'string' || (spec !== null && !ID.test(id)) || typeof file !== 'string' || !Array.isArray(diagnostics)) return null;
  const found = spec === null ? null : specOf(lifecycle, slot, { ...fieldsOf(spec), id });
  const notes = diagnostics.filter(isDiagnostic);
  if ((found === null) !== (spec === null) || notes.length < diagnostics.length) return null;
  const prompt = files.find((each) => each.file === file)?.prompt;
  const whole = found && prompt && found.prompt === null ? { ...found, prompt: prompt.text, promptFile: prompt.file } : found;
  return deepFreeze({ id, spec: whole, diagnostics: notes, file, ...(arePositions(positions) ? { positions } : {}) });
}

function specOf(lifecycle: Lifecycle, { id: extensionId, declaration }: Slot, value: Readonly<Record<string, unknown>>): AgentSpec | null {
  const { integrationMode, prompt, promptFile, keys, origin } = value;
  const limits = { ...DEFAULT_LIMITS, ...fieldsOf(value['limits']) };
  const isText = (each: unknown) => typeof each === 'string';
  const areTexts = (each: unknown) => Array.isArray(each) && each.every(isText);
  const isRight =
    TEXTS.every((key) => isText(value[key])) &&
    LISTS.every((key) => areTexts(value[key])) &&
    LIMITS.every((key) => Number.isInteger(limits[key]) && limits[key] >= 0) &&
    [prompt, promptFile, origin].every((each) => each === null || isText(each)) &&
    (integrationMode === 'tool' || integrationMode === 'none') &&
    isPlainMap(keys);
  if (!isRight) return null;
  const { promptBy: _, broughtBy: __, ...spec } = toJsonValue({ ...value, limits }, 'the agent') as unknown as AgentSpec;
  const owned = new Set([...lifecycle.slots.values()].flatMap((slot) => slot.declaration.manifest?.agent_keys ?? []));
  const isForeign = lifecycle.runtime.rights.isForeign(declaration);
  const isLet = declaration.manifest?.permissions.agents.includes(spec.id) ?? false; // a manifest holds no more than a person agreed to
  return lifecycle.runtime.secrets.redactJson({
    ...spec,
    keys: Object.fromEntries(Object.entries(spec.keys).filter(([key]) => owned.has(key))),
    origin: spec.origin ?? declaration.file,
    ...(spec.prompt === null ? {} : { promptBy: extensionId }),
    ...(isForeign ? { broughtBy: { extensionId, ownOnly: !isLet } } : {}),
  });
}

/** A file that nothing made an agent of. */
function unanswered(lifecycle: Lifecycle, { id, file, readBy = '' }: Declaration): FoundAgent {
  const slot = lifecycle.slots.get(readBy);
  const why = (slot && lifecycle.reason(slot)) ?? (slot && canRun(lifecycle.stateOf(slot)) ? 'it gave no agent' : 'it is switched off');
  const message = `the extension '${readBy}', which reads it, made no agent of it: ${why}`;
  const note: Diagnostic = { severity: 'error', code: 'provider_unavailable', message, file, cure: `see: pith extensions show ${readBy}` };
  return { id, spec: null, diagnostics: [note], file };
}

function isDiagnostic(value: unknown): value is Diagnostic {
  const { severity, code, message, file, line, column, cure } = fieldsOf(value);
  const isMaybe = (type: string, parts: readonly unknown[]) => parts.every((each) => each === undefined || typeof each === type);
  const isSeverity = severity === 'error' || severity === 'warning' || severity === 'info';
  return (
    isSeverity &&
    [code, message].every((each) => typeof each === 'string') &&
    isMaybe('string', [file, cure]) &&
    isMaybe('number', [line, column])
  );
}

function arePositions(value: unknown): value is NonNullable<FoundAgent['positions']> {
  const isPlace = (each: unknown) => Array.isArray(each) && each.length === 2 && each.every((part) => typeof part === 'number');
  return isPlainMap(value) && Object.values(value).every(isPlace);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isPlainMap(value) ? value : {};
}
