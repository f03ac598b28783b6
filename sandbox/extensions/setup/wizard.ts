import {
  type CommandInput,
  type CommandIO,
  type Diagnostic,
  type ExtensionContext,
  ExtensionSettings,
  type JsonValue,
  messageOf,
  ModelProvider,
  PithError,
  type Remote,
  type SettingsChange,
  SetupProvider,
  type SetupSchema,
} from 'pith';
import { renderTable } from '@pith/command-line';
import { didYouMean, findingLine, printableLine, withCure } from '@pith/plain-text';
import pc from 'picocolors';

/** Without an id it lists what can be set up; with one it asks, or takes `--set name=value`. */
export async function setUp(context: ExtensionContext, input: CommandInput, io: CommandIO): Promise<number> {
  const settings = context.use(ExtensionSettings);
  const extensions = await settings.list();
  const id = input.arguments['id'];
  if (typeof id !== 'string') return list(extensions, io);
  const provider = providerOf(context, extensions, id);
  const schema: SetupSchema = (await provider?.getSetupSchema()) ?? { title: id, fields: [] };
  const given = (input.options['set'] ?? []) as readonly string[];
  if (given.length === 0 && !io.interactive) return show(io, id, schema);

  const changes: Record<string, JsonValue> = {};
  const apply = async (field: SetupSchema['fields'][number], value: JsonValue) =>
    Object.assign(changes, (await provider?.applyConfig(field.name, value)) satisfies SettingsChange | undefined);
  for (const text of given) {
    const { name, value } = splitSetting(text);
    const field = schema.fields.find((each) => each.name === name);
    if (field?.kind === 'secret') throw refusedSecret(id, field);
    if (field) await apply(field, valueOf(field, value));
    else if (provider && !name.includes('.') && isNear(name, schema)) throw unknownField(id, name, schema);
    else changes[`extensions.${id}.${name}`] = jsonOr(value);
  }
  const secrets = new Map<string, string>();
  if (given.length === 0) {
    if (schema.fields.length === 0)
      throw new PithError('usage', `'${id}' asks nothing`, { cure: `write: pith setup ${id} --set name=value` });
    io.print(`${schema.title}. Enter keeps what is there.`);
    for (const field of schema.fields) {
      const answer = await ask(io, field);
      if (answer === null) return 1;
      if (answer === '') continue;
      if (field.kind === 'secret') secrets.set(field.secret ?? field.name, answer);
      else await apply(field, valueOf(field, answer));
    }
  }
  const by = input.options['for-agent'] === true ? 'agent' : 'person';
  const file = Object.keys(changes).length > 0 ? await settings.write(id, changes, by) : '';
  if (!io.quiet) for (const key of Object.keys(changes)) io.print(`Wrote ${key} to ${file}`);
  // A secret belongs to the address that has just been set.
  for (const [name, value] of secrets) await settings.keepSecret(id, name, value);
  const finding = (await settings.list()).find((each) => each.id === id)?.finding ?? null;
  const worked = finding === null && provider ? await complete(provider) : { line: finding && findingLine(finding), ok: finding === null };
  const said = worked.ok ? ((await missingModel(context, id, changes)) ?? worked) : worked;
  io.json({ ok: said.ok, id, changes, secrets: [...secrets.keys()], line: said.line });
  if (!said.ok) io.error(`pith: ${id} is set up, but does not work yet: ${said.line ?? 'it failed'}`);
  else if (!io.quiet) io.print(said.line ?? `${id} is set up`);
  return said.ok ? 0 : 1;
}

/** The notice where the server lists its models and the chosen one is not among them; null: nothing to say. */
async function missingModel(
  context: ExtensionContext,
  id: string,
  changes: SettingsChange,
): Promise<{ readonly ok: false; readonly line: string } | null> {
  const [, prefix = '', name = ''] = /^([^/]+)\/(.+)$/u.exec(String(changes['models.default'] ?? '')) ?? [];
  const provider = context.find(ModelProvider).find(({ extensionId }) => extensionId === id);
  const models = name === '' ? [] : ((await provider?.models(prefix).catch(() => [])) ?? []);
  const names = models.map((model) => model.name);
  if (names.length === 0 || names.includes(name)) return null;
  return {
    ok: false,
    line: `its server has no model '${printableLine(name)}'${didYouMean(name, names)}; it has ${names.slice(0, 5).join(', ')}`,
  };
}

async function complete(provider: {
  onSetupComplete(): Promise<string | null>;
}): Promise<{ readonly ok: boolean; readonly line: string | null }> {
  try {
    return { ok: true, line: await provider.onSetupComplete() };
  } catch (error) {
    return { ok: false, line: withCure(messageOf(error), error instanceof PithError ? error.cure : undefined) };
  }
}

type Extensions = Awaited<ReturnType<ExtensionSettings['list']>>;

/** null: it asks nothing. */
function providerOf(context: ExtensionContext, extensions: Extensions, id: string): Remote<SetupProvider> | null {
  const extension = extensions.find((each) => each.id === id);
  if (extension === undefined) {
    const known = extensions.map((each) => each.id);
    throw new PithError('not_found', `no extension '${id}': nothing declares it${didYouMean(id, known)}`, {
      cure: 'see: pith extensions list',
    });
  }
  const provider = context.find(SetupProvider).find(({ extensionId }) => extensionId === id) ?? null;
  if (provider !== null || !extension.provides.includes('setup')) return provider;
  const { message, cure }: Pick<Diagnostic, 'message' | 'cure'> = extension.finding ?? { message: `it is ${extension.state}` };
  throw new PithError('provider_unavailable', `'${id}' cannot be set up: ${message}`, { cure });
}

const COLOURS = { active: 'green', idle: 'green', blocked: 'yellow', failed: 'red', disabled: 'dim' } as const;

function list(extensions: Extensions, io: CommandIO): number {
  const found = extensions.filter(({ provides }) => provides.includes('setup'));
  io.json(found.map(({ id, state, name, description }) => ({ id, state, name, description })));
  const colour = pc.createColors(io.colour);
  const paint = (text: string, { state }: (typeof found)[number]): string => colour[COLOURS[state as keyof typeof COLOURS]](text);
  const columns = [
    { title: 'EXTENSION', value: ({ id }: (typeof found)[number]) => id },
    { title: 'STATE', value: ({ state }: (typeof found)[number]) => state, paint },
    { title: 'WHAT IT IS', value: ({ description }: (typeof found)[number]) => description, below: true },
  ];
  if (found.length === 0) io.print(colour.dim('Nothing asks to be set up'));
  else io.print(renderTable(found, columns, io.colour || io.interactive ? io.columns : 0, colour.dim));
  if (found.length > 0 && !io.quiet) io.print('\nSet one up: pith setup <extension>. Connect a model, on a terminal: pith setup');
  return 0;
}

function show(io: CommandIO, id: string, { title, fields }: SetupSchema): number {
  io.json({ id, title, fields: fields.map((field) => ({ ...field, choices: [...(field.choices ?? [])] })) });
  io.print(title);
  for (const { name, kind, description, current } of fields)
    io.print(`  ${name} (${kind}): ${description}${current === undefined || current === null ? '' : ` [${JSON.stringify(current)}]`}`);
  io.print(`\nSet them with: pith setup ${id} --set name=value; secrets with: pith secrets set NAME`);
  return 0;
}

async function ask(io: CommandIO, field: SetupSchema['fields'][number]): Promise<string | null> {
  const shown = field.current === undefined || field.current === null ? '' : ` [${String(field.current)}]`;
  const choices = field.kind === 'choice' ? ` (${(field.choices ?? []).join(', ')})` : '';
  return (await io.ask(`${field.description}${choices}${shown}:`, { secret: field.kind === 'secret' }))?.trim() ?? null;
}

function splitSetting(text: string): { readonly name: string; readonly value: string } {
  const at = text.indexOf('=');
  if (at > 0) return { name: text.slice(0, at), value: text.slice(at + 1) };
  throw new PithError('usage', `wrong use of --set: '${text}' has no value`, { cure: 'write: --set name=value' });
}

/** Throws `usage` for an invalid value of this field. */
function valueOf({ name, kind, choices = [] }: SetupSchema['fields'][number], text: string): JsonValue {
  if (kind === 'text') return text;
  if (kind === 'choice') {
    if (choices.includes(text)) return text;
    throw new PithError('usage', `'${name}' cannot be '${text}'${didYouMean(text, choices)}`, {
      cure: `choose one of ${choices.join(', ')}`,
    });
  }
  const value = jsonOr(text);
  if (typeof value === kind) return value;
  throw new PithError('usage', `'${name}' cannot be '${text}'`, { cure: kind === 'boolean' ? 'write true or false' : 'write a number' });
}

function jsonOr(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text; // plain text, as most values are
  }
}

function refusedSecret(id: string, { name, secret = name }: SetupSchema['fields'][number]): PithError {
  return new PithError('usage', `the secret '${name}' is not taken on the command line, where others can read it`, {
    cure: `run \`pith setup ${id}\` on a terminal, or: pith secrets set ${secret}`,
  });
}

function isNear(name: string, { fields }: SetupSchema): boolean {
  return (
    didYouMean(
      name,
      fields.map((field) => field.name),
    ) !== ''
  );
}

function unknownField(id: string, name: string, { fields }: SetupSchema): PithError {
  const names = fields.map((field) => field.name);
  return new PithError('usage', `'${id}' does not ask for '${name}'${didYouMean(name, names)}`, { cure: 'correct the name' });
}
