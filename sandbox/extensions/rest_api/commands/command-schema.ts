import { type Command, type CommandInput, z } from 'pith';
import { pageQuery } from './pages.ts';
import type { CommandRoute } from './table.ts';

/** What a caller may say to a command: the query of a GET, else the body. Names have `_` where the command line has `-`. */
export function inputSchema(command: Command, route: CommandRoute): z.ZodObject {
  const inPath = namesInPath(route.path);
  const isQuery = route.method === 'GET';
  const fields: Record<string, z.ZodType> = {};
  for (const { name, description, required = false, variadic = false } of command.arguments ?? []) {
    if (inPath.has(name)) continue;
    const text = required ? given().min(1) : given();
    const one = variadic ? listOf(text, isQuery) : text;
    fields[nameOf(name)] = optionalUnless(required, one).describe(description);
  }
  for (const { name, type, description, multiple = false } of command.options ?? []) {
    if (Object.hasOwn(route.fixed ?? {}, name) || (route.asks === true && name === 'yes')) continue;
    if (route.list !== undefined && PAGES.has(name)) continue;
    const one = multiple ? listOf(z.string(), isQuery) : isQuery ? inQuery(type) : inBody(type);
    fields[nameOf(name)] = one.optional().describe(description);
  }
  if (route.asks === true)
    fields['confirm'] = listOf(z.string(), isQuery)
      .optional()
      .describe('Digests of what was shown and is agreed to, from an answer with status 409');
  if (command.allowUnknownOptions === true) fields['inputs'] = z.record(z.string(), z.json()).optional().describe('Inputs by their names');
  return z.strictObject({ ...fields, ...(route.list === undefined ? {} : pageQuery(route.list, command)) });
}

/** Options by which a command lists in pages. */
const PAGES: ReadonlySet<string> = new Set(['limit', 'after']);

/** The input of the command for a checked request, without defaults. */
export function commandInput(
  command: Command,
  route: CommandRoute,
  given: { readonly params: Readonly<Record<string, string>>; readonly values: Readonly<Record<string, unknown>> },
): CommandInput {
  const { params, values } = given;
  const { above } = route;
  const below = above === undefined ? null : above.replaceAll(/\{(\w+)\}/gu, (_, name: string) => params[name] ?? '');
  const said = (name: string) => {
    const value = params[name] ?? values[nameOf(name)];
    return below === null || name !== 'values' ? value : (value as readonly string[]).map((each) => below + each);
  };
  const entries = (list: readonly { readonly name: string }[] = []) =>
    list.flatMap(({ name }) => (said(name) === undefined ? [] : [[name, said(name)] as const]));
  const inputs = Object.entries((values['inputs'] ?? {}) as Readonly<Record<string, unknown>>);
  // As `--input name=value`, so that no input is taken for an option of the command.
  const pairs = inputs.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const open = pairs.length === 0 ? {} : { input: [...((values['input'] ?? []) as readonly string[]), ...pairs] };
  const variadic = (command.arguments ?? []).flatMap(({ name, variadic: takesAll = false }) => {
    const value = said(name);
    return takesAll && typeof value === 'string' ? [[name, [value]] as const] : [];
  });
  return {
    arguments: Object.fromEntries([...entries(command.arguments), ...variadic]) as CommandInput['arguments'],
    options: { ...Object.fromEntries(entries(command.options)), ...open, ...route.fixed } as CommandInput['options'],
  };
}

function nameOf(name: string): string {
  return name.replaceAll('-', '_');
}

function namesInPath(path: string): ReadonlySet<string> {
  return new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name));
}

type OptionType = NonNullable<Command['options']>[number]['type'];

function inBody(type: OptionType): z.ZodType {
  return type === 'boolean' ? z.boolean() : type === 'number' ? z.number() : given();
}

function inQuery(type: OptionType): z.ZodType {
  if (type === 'boolean') return z.enum(['true', 'false']).transform((value) => value === 'true');
  return type === 'number' ? z.coerce.number() : given();
}

/** As a command line can have it. */
function given(): z.ZodString {
  return z.string().regex(/^[^\0]*$/u, 'must have no character U+0000');
}

/** A name that comes once in a query is a text. */
function listOf(one: z.ZodType, isQuery: boolean): z.ZodType {
  return isQuery ? z.union([z.array(one), one.transform((value) => [value])]) : z.array(one);
}

function optionalUnless(required: boolean, schema: z.ZodType): z.ZodType {
  return required ? schema : schema.optional();
}
