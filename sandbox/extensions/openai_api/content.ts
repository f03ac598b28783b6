import { z } from 'pith';
import type { ProgramRequest, ProgramTool } from 'pith/program_turns';
import { pathText, refused } from './errors.ts';

/** `data:image/png;base64,…`. Throws `ApiError` for every other address. */
export function imageIn(url: string, path: readonly PropertyKey[]): { readonly mediaType: string; readonly data: string } {
  const found = /^data:(image\/[a-z+.-]+);base64,([A-Za-z0-9+/=\s]+)$/iu.exec(url);
  if (found === null) throw refused(pathText(path), 'images are not fetched from an address', 'send a data URL: data:image/png;base64,…');
  const [, mediaType = '', data = ''] = found;
  return { mediaType: mediaType.toLowerCase(), data: data.replaceAll(/\s/gu, '') };
}

/** The name and parameters of a function, as both interfaces have them. */
export function functionSchema() {
  return z.looseObject({
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/u, 'must be 1 to 64 letters, digits, - and _'),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  });
}

type GivenFunction = z.infer<ReturnType<typeof functionSchema>>;

/** The tools that the agent gets. Throws `ApiError` where the choice cannot be kept, or a name is there twice. */
export function toolsOf(functions: readonly GivenFunction[], choice: unknown): readonly ProgramTool[] {
  if (choice === 'none') return [];
  if (choice !== undefined && choice !== null && choice !== 'auto')
    throw refused('tool_choice', 'an agent chooses its tools itself', "use 'auto' or 'none'");
  const names = functions.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) throw refused('tools', `the function '${twice}' is there twice`, 'rename one of them');
  return functions.map(({ name, description, parameters }) => ({
    name,
    description: description ?? '',
    inputSchema: { type: 'object', properties: {}, ...parameters },
  }));
}

/** The schema of the answer; undefined: any text. `format`: of `response_format` or `text.format`. */
export function outputOf(
  format: { readonly type: string; readonly schema?: unknown } | null | undefined,
  param: string,
): ProgramRequest['output'] {
  if (format === null || format === undefined || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'object' };
  if (format.type === 'json_schema' && typeof format.schema === 'object' && format.schema !== null)
    return format.schema as ProgramRequest['output'];
  throw refused(param, `the format '${format.type}' cannot be kept`, "use 'text', 'json_object', or 'json_schema' with a schema");
}
